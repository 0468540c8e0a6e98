(** Finite sums of integers, and the norms of a change.

    A released array has [q] histograms, [m j] cells in histogram [j] and [n] parts in a cell. *)
From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

Fixpoint total (n : nat) (f : nat -> Z) : Z :=
  match n with O => 0 | S k => total k f + f k end.

Lemma total_ext n f g : (forall k, (k < n)%nat -> f k = g k) -> total n f = total n g.
Proof. induction n; simpl; intros E; auto. rewrite IHn, E; auto. Qed.

Lemma total_le n f g : (forall k, (k < n)%nat -> f k <= g k) -> total n f <= total n g.
Proof.
  induction n; simpl; intros L; [lia|].
  assert (f n <= g n) by auto. assert (total n f <= total n g) by auto. lia.
Qed.

Lemma total_const n c : total n (fun _ => c) = Z.of_nat n * c.
Proof. induction n; [reflexivity|]. simpl total. rewrite IHn. lia. Qed.

Lemma total_zero n f : (forall k, (k < n)%nat -> f k = 0) -> total n f = 0.
Proof. intros E. rewrite (total_ext n f (fun _ => 0)) by auto. rewrite total_const. lia. Qed.

Lemma total_add n f g : total n (fun k => f k + g k) = total n f + total n g.
Proof. induction n; simpl; lia. Qed.

Lemma total_scale n c f : total n (fun k => c * f k) = c * total n f.
Proof. induction n; simpl; lia. Qed.

Lemma total_nonneg n f : (forall k, (k < n)%nat -> 0 <= f k) -> 0 <= total n f.
Proof.
  intros P. assert (E : total n (fun _ => 0) <= total n f) by (apply total_le; auto).
  rewrite total_const in E. lia.
Qed.

Lemma total_bound n f b : (forall k, (k < n)%nat -> f k <= b) -> total n f <= Z.of_nat n * b.
Proof. intros L. rewrite <- total_const. apply total_le. auto. Qed.

Lemma total_one n f k : (k < n)%nat -> (forall i, (i < n)%nat -> i <> k -> f i = 0) ->
  total n f = f k.
Proof.
  induction n; intros K E; [lia|]. simpl.
  destruct (Nat.eq_dec k n) as [->|D].
  - rewrite total_zero; [lia|]. intros i I. apply E; lia.
  - rewrite IHn by (try lia; intros; apply E; lia). rewrite (E n) by lia. lia.
Qed.

Lemma total_two n f k l : (k < n)%nat -> (l < n)%nat -> k <> l ->
  (forall i, (i < n)%nat -> i <> k -> i <> l -> f i = 0) -> total n f = f k + f l.
Proof.
  intros K L D E.
  rewrite (total_ext n f
    (fun i => (if Nat.eqb i k then f k else 0) + (if Nat.eqb i l then f l else 0))).
  - rewrite total_add.
    rewrite (total_one n (fun i => if Nat.eqb i k then f k else 0) k K).
    + rewrite (total_one n (fun i => if Nat.eqb i l then f l else 0) l L).
      * rewrite !Nat.eqb_refl. reflexivity.
      * intros i _ N. destruct (Nat.eqb_spec i l); congruence.
    + intros i _ N. destruct (Nat.eqb_spec i k); congruence.
  - intros i I. destruct (Nat.eqb_spec i k), (Nat.eqb_spec i l); subst; try lia.
    rewrite E; auto.
Qed.

(** ** Measures of one number

    A measure is summed over the entries of a change: the absolute value gives the L1 norm, the
    square the squared L2 norm, [touch] the number of entries that change. *)

Definition array := nat -> nat -> nat -> Z.

Definition square (z : Z) : Z := z * z.
Definition touch (z : Z) : Z := if z =? 0 then 0 else 1.

Record measure (f : Z -> Z) : Prop := {
  at_zero : f 0 = 0;
  at_minus : forall z, f (- z) = f z;
  not_negative : forall z, 0 <= f z
}.

Lemma measure_abs : measure Z.abs.
Proof. split; intros; lia. Qed.

Lemma measure_square : measure square.
Proof. unfold square. split; intros; [reflexivity|ring|apply Z.square_nonneg]. Qed.

Lemma measure_touch : measure touch.
Proof.
  unfold touch. split; [reflexivity|intros z|intros z].
  - destruct (Z.eqb_spec (- z) 0), (Z.eqb_spec z 0); lia.
  - destruct (Z.eqb_spec z 0); lia.
Qed.

Definition norm (f : Z -> Z) (q : nat) (m : nat -> nat) (n : nat) (x : array) : Z :=
  total q (fun j => total (m j) (fun c => total n (fun k => f (x j c k)))).

Lemma norm_ext f q m n x y :
  (forall j c k, x j c k = y j c k) -> norm f q m n x = norm f q m n y.
Proof.
  intros E. apply total_ext. intros. apply total_ext. intros. apply total_ext. intros.
  now rewrite E.
Qed.

Lemma norm_le f g q m n x y :
  (forall j c k, f (x j c k) <= g (y j c k)) -> norm f q m n x <= norm g q m n y.
Proof.
  intros E. apply total_le. intros. apply total_le. intros. apply total_le. auto.
Qed.

Lemma norm_add f g q m n x y :
  norm f q m n x + norm g q m n y
  = total q (fun j => total (m j) (fun c => total n (fun k => f (x j c k) + g (y j c k)))).
Proof.
  unfold norm. rewrite <- total_add. apply total_ext. intros. rewrite <- total_add.
  apply total_ext. intros. now rewrite <- total_add.
Qed.

Lemma norm_scale a f q m n x :
  a * norm f q m n x
  = total q (fun j => total (m j) (fun c => total n (fun k => a * f (x j c k)))).
Proof.
  unfold norm. rewrite <- total_scale. apply total_ext. intros. rewrite <- total_scale.
  apply total_ext. intros. now rewrite <- total_scale.
Qed.
