(** Tables of rows, neighbouring tables, and sums over rows. *)
From Coq Require Import ZArith List Lia Permutation.
From DPBoost Require Import Sums.
Import ListNotations.
Open Scope Z_scope.

(** [dpboost.privacy.neighbours.Neighbours] *)
Inductive relation := AddRemove | Replace.

(** [Neighbours.rows] *)
Definition rows (r : relation) : Z := match r with AddRemove => 1 | Replace => 2 end.

Section Tables.
Variable Row : Type.

(** What every row is promised to be: inside its public clips. *)
Variable ok : Row -> Prop.

(** The row that differs stands at any place. *)
Inductive near : relation -> list Row -> list Row -> Prop :=
| Added before r after : ok r -> near AddRemove (before ++ r :: after) (before ++ after)
| Removed before r after : ok r -> near AddRemove (before ++ after) (before ++ r :: after)
| Replaced before r s after : ok r -> ok s ->
    near Replace (before ++ r :: after) (before ++ s :: after).

(** Tables that differ by [k] such steps: a user with [k] rows. *)
Inductive steps (rel : relation) : nat -> list Row -> list Row -> Prop :=
| Same t : steps rel 0 t t
| Step k t u w : steps rel k t u -> near rel u w -> steps rel (S k) t w.

Variable v : Row -> array.
Variables (q : nat) (m : nat -> nat) (n : nat).

Definition answer (t : list Row) : array :=
  fun j c k => fold_right (fun r s => v r j c k + s) 0 t.

Lemma answer_app s t j c k : answer (s ++ t) j c k = answer s j c k + answer t j c k.
Proof. unfold answer. induction s; simpl; lia. Qed.

Lemma answer_cons r t j c k : answer (r :: t) j c k = v r j c k + answer t j c k.
Proof. reflexivity. Qed.

(** The order of the rows, and how sites share them, does not matter. *)
Theorem answer_order s t : Permutation s t -> forall j c k, answer s j c k = answer t j c k.
Proof. unfold answer. 
  induction 1; intros; simpl; [lia|rewrite IHPermutation; lia|lia|].
  rewrite IHPermutation1. apply IHPermutation2.
Qed.

Definition change (f : Z -> Z) (s t : list Row) : Z :=
  norm f q m n (fun j c k => answer s j c k - answer t j c k).

Lemma change_added f b r a : change f (b ++ r :: a) (b ++ a) = norm f q m n (v r).
Proof. apply norm_ext. intros. rewrite !answer_app, answer_cons. lia. Qed.

Lemma change_removed f b r a : measure f ->
  change f (b ++ a) (b ++ r :: a) = norm f q m n (v r).
Proof.
  intros F. unfold change, norm.
  apply total_ext; intros; apply total_ext; intros; apply total_ext; intros.
  rewrite !answer_app, answer_cons.
  rewrite <- (at_minus f F (v r _ _ _)). f_equal. lia.
Qed.

Lemma change_replaced f b r s a :
  change f (b ++ r :: a) (b ++ s :: a) = norm f q m n (fun j c k => v r j c k - v s j c k).
Proof. apply norm_ext. intros. rewrite !answer_app, !answer_cons. lia. Qed.

(** No neighbouring tables are further apart. *)
Definition holds (f : Z -> Z) (rel : relation) (d : Z) : Prop :=
  forall s t, near rel s t -> change f s t <= d.

(** Some neighbouring tables are as far apart. *)
Definition attained (f : Z -> Z) (rel : relation) (d : Z) : Prop :=
  exists s t, near rel s t /\ change f s t = d.

Definition tight f rel d : Prop := holds f rel d /\ attained f rel d.

Lemma holds_add f d : measure f ->
  (forall r, ok r -> norm f q m n (v r) <= d) -> holds f AddRemove d.
Proof.
  intros F L s t E. inversion E; subst.
  - rewrite change_added. auto.
  - rewrite change_removed by auto. auto.
Qed.

Lemma holds_replace f d :
  (forall r s, ok r -> ok s -> norm f q m n (fun j c k => v r j c k - v s j c k) <= d) ->
  holds f Replace d.
Proof. intros L s t E. inversion E; subst. rewrite change_replaced. auto. Qed.

Lemma attained_add f r : ok r -> attained f AddRemove (norm f q m n (v r)).
Proof.
  intros. exists [r], []. split; [apply (Added [] r []); auto|].
  apply (change_added f [] r []).
Qed.

Lemma attained_replace f r s : ok r -> ok s ->
  attained f Replace (norm f q m n (fun j c k => v r j c k - v s j c k)).
Proof.
  intros. exists [r], [s]. split; [apply (Replaced [] r s []); auto|].
  apply (change_replaced f [] r s []).
Qed.

(** ** Users with several rows: [dpboost.privacy.accounting.for_group] *)

Lemma change_same f t : measure f -> change f t t = 0.
Proof.
  intros F. unfold change, norm. apply total_zero; intros; apply total_zero; intros;
  apply total_zero; intros. rewrite Z.sub_diag. apply F.
Qed.

Theorem users_l1 rel d k s t : holds Z.abs rel d -> steps rel k s t ->
  change Z.abs s t <= Z.of_nat k * d.
Proof.
  intros H E. induction E.
  - rewrite change_same by apply measure_abs. lia.
  - apply H in H0.
    assert (T : change Z.abs t w <= change Z.abs t u + change Z.abs u w).
    { unfold change. rewrite norm_add.
      apply total_le; intros; apply total_le; intros; apply total_le; intros. lia. }
    lia.
Qed.

Theorem users_touch rel d k s t : holds touch rel d -> steps rel k s t ->
  change touch s t <= Z.of_nat k * d.
Proof.
  intros H E. induction E.
  - rewrite change_same by apply measure_touch. lia.
  - apply H in H0.
    assert (T : change touch t w <= change touch t u + change touch u w).
    { unfold change. rewrite norm_add.
      apply total_le; intros; apply total_le; intros; apply total_le; intros.
      unfold touch.
      repeat match goal with |- context [?x =? 0] => destruct (Z.eqb_spec x 0) end; lia. }
    lia.
Qed.

Theorem users_l2 rel d k s t : holds square rel d -> steps rel k s t ->
  change square s t <= Z.of_nat k * Z.of_nat k * d.
Proof.
  intros H E. induction E.
  - rewrite change_same by apply measure_square. lia.
  - apply H in H0. destruct k.
    + inversion E; subst. lia.
    + set (x := Z.of_nat (S k)) in *.
      assert (P : 1 <= x) by (unfold x; lia).
      assert (T : x * change square t w
        <= (x + 1) * change square t u + x * (x + 1) * change square u w).
      { unfold change. rewrite !norm_scale.
        rewrite <- total_add. apply total_le; intros.
        rewrite <- total_add. apply total_le; intros.
        rewrite <- total_add. apply total_le; intros.
        set (a := answer t k0 k1 k2). set (b := answer u k0 k1 k2). set (c := answer w k0 k1 k2).
        unfold square.
        assert (0 <= ((a - b) - x * (b - c)) * ((a - b) - x * (b - c))) by apply Z.square_nonneg.
        replace (a - c) with ((a - b) + (b - c)) by lia.
        set (p := a - b) in *. set (r := b - c) in *. nia. }
      replace (Z.of_nat (S (S k))) with (x + 1) by lia.
      assert (x * change square t w <= x * ((x + 1) * (x + 1) * d)) by nia.
      nia.
Qed.

(** Both are attained by copies of one row. *)
Theorem users_attained r k : ok r ->
  exists s t, steps AddRemove k s t
    /\ change Z.abs s t = Z.of_nat k * norm Z.abs q m n (v r)
    /\ change square s t = Z.of_nat k * Z.of_nat k * norm square q m n (v r).
Proof.
  intros O. exists [], (repeat r k).
  assert (A : forall j c i, answer (repeat r k) j c i = Z.of_nat k * v r j c i).
  { intros. induction k; [reflexivity|]. simpl repeat. rewrite answer_cons, IHk. lia. }
  split; [|split].
  - clear A. induction k; [constructor|]. apply (Step _ _ _ (repeat r k)); auto.
    apply (Removed [] r (repeat r k)); auto.
  - unfold change. rewrite norm_scale. unfold norm.
    apply total_ext; intros; apply total_ext; intros; apply total_ext; intros.
    rewrite A. simpl answer. unfold answer. simpl. lia.
  - unfold change. rewrite norm_scale. unfold norm.
    apply total_ext; intros; apply total_ext; intros; apply total_ext; intros.
    rewrite A. unfold answer, square. simpl. lia.
Qed.
End Tables.
