(** Rows that are in at most one cell of each histogram, and what they add there. *)
From Coq Require Import ZArith List Lia.
From DPBoost Require Import Sums Tables Constants.
Import ListNotations.
Open Scope Z_scope.

Lemma root_up_spec s : 0 <= s -> s <= root_up s * root_up s
  /\ forall r, 0 <= r -> s <= r * r -> root_up s <= r.
Proof.
  intros S. unfold root_up. destruct (Z.eq_dec s 0) as [->|N].
  - change (Z.sqrt_up 0) with 0. split; lia.
  - destruct (Z.sqrt_up_spec s) as [L U]; [lia|]. split; [lia|].
    intros r R E. destruct (Z.le_gt_cases (Z.sqrt_up s) r) as [K|K]; auto.
    assert (r <= Z.pred (Z.sqrt_up s)) by lia. nia.
Qed.

Lemma total_split a b f : total (a + b) f = total a f + total b (fun k => f (a + k)%nat).
Proof.
  induction b; simpl.
  - rewrite Nat.add_0_r. lia.
  - rewrite Nat.add_succ_r. simpl. rewrite IHb. lia.
Qed.

Section Cells.
Variable Row : Type.
Variable cell : Row -> nat -> option nat.
Variable part : Row -> nat -> nat -> Z.
Variables (q : nat) (m : nat -> nat) (n : nat).

Definition vector (r : Row) : array := fun j c k =>
  match cell r j with Some d => if Nat.eqb d c then part r j k else 0 | None => 0 end.

(** A row is in a cell that is there. *)
Definition inside (r : Row) : Prop :=
  forall j d, (j < q)%nat -> cell r j = Some d -> (d < m j)%nat.

Definition size (f : Z -> Z) (r : Row) (j : nat) : Z := total n (fun k => f (part r j k)).
Definition apart (f : Z -> Z) (r s : Row) (j : nat) : Z :=
  total n (fun k => f (part r j k - part s j k)).

Lemma norm_vector f r : measure f -> inside r -> norm f q m n (vector r)
  = total q (fun j => match cell r j with Some _ => size f r j | None => 0 end).
Proof.
  intros F I. apply total_ext. intros j J. unfold vector.
  destruct (cell r j) as [d|] eqn:E.
  - rewrite (total_one (m j) _ d).
    + rewrite Nat.eqb_refl. reflexivity.
    + eauto.
    + intros c _ N. apply total_zero. intros. destruct (Nat.eqb_spec d c); [congruence|apply F].
  - apply total_zero; intros; apply total_zero; intros; apply F.
Qed.

Lemma norm_difference f r s : measure f -> inside r -> inside s ->
  norm f q m n (fun j c k => vector r j c k - vector s j c k)
  = total q (fun j => match cell r j, cell s j with
      | Some c, Some d => if Nat.eqb c d then apart f r s j else size f r j + size f s j
      | Some _, None => size f r j
      | None, Some _ => size f s j
      | None, None => 0
      end).
Proof.
  intros F I S. apply total_ext. intros j J. unfold vector.
  assert (M : forall z, f (0 - z) = f z) by (intros; apply F).
  destruct (cell r j) as [c|] eqn:C, (cell s j) as [d|] eqn:D.
  - destruct (Nat.eqb_spec c d) as [->|N].
    + rewrite (total_one (m j) _ d); [|eauto|].
      * rewrite Nat.eqb_refl. reflexivity.
      * intros e _ N. apply total_zero. intros.
        destruct (Nat.eqb_spec d e); [congruence|]. apply F.
    + rewrite (total_two (m j) _ c d); eauto.
      * rewrite !Nat.eqb_refl. destruct (Nat.eqb_spec d c); [congruence|].
        destruct (Nat.eqb_spec c d); [congruence|]. unfold size. f_equal.
        -- apply total_ext. intros. now rewrite Z.sub_0_r.
        -- apply total_ext. intros. apply M.
      * intros e _ X Y. apply total_zero. intros.
        destruct (Nat.eqb_spec c e); [congruence|].
        destruct (Nat.eqb_spec d e); [congruence|]. apply F.
  - rewrite (total_one (m j) _ c); [|eauto|].
    + rewrite Nat.eqb_refl. apply total_ext. intros. now rewrite Z.sub_0_r.
    + intros e _ N. apply total_zero. intros. destruct (Nat.eqb_spec c e); [congruence|]. apply F.
  - rewrite (total_one (m j) _ d); [|eauto|].
    + rewrite Nat.eqb_refl. apply total_ext. intros. apply M.
    + intros e _ N. apply total_zero. intros. destruct (Nat.eqb_spec d e); [congruence|]. apply F.
  - apply total_zero; intros; apply total_zero; intros; apply F.
Qed.

Variable ok : Row -> Prop.
Hypothesis ok_inside : forall r, ok r -> inside r.

Notation holds := (holds Row ok vector q m n).
Notation attained := (attained Row ok vector q m n).

Lemma add_holds f b : measure f -> 0 <= b ->
  (forall r j, ok r -> (j < q)%nat -> size f r j <= b) -> holds f AddRemove (Z.of_nat q * b).
Proof.
  intros F B L. apply holds_add; auto. intros r O. rewrite norm_vector by auto.
  apply total_bound. intros j J. destruct (cell r j); auto.
Qed.

Lemma replace_holds f b d : measure f -> 0 <= b -> 2 * b <= d ->
  (forall r j, ok r -> (j < q)%nat -> size f r j <= b) ->
  (forall r s j, ok r -> ok s -> (j < q)%nat -> apart f r s j <= d) ->
  holds f Replace (Z.of_nat q * d).
Proof.
  intros F B D L S. apply holds_replace. intros r s R T. rewrite norm_difference by auto.
  apply total_bound. intros j J.
  assert (size f r j <= b) by auto. assert (size f s j <= b) by auto.
  destruct (cell r j) as [c|], (cell s j) as [e|]; try lia.
  destruct (Nat.eqb c e); [auto|lia].
Qed.

Lemma add_attained f b r : measure f -> ok r ->
  (forall j, (j < q)%nat -> cell r j <> None /\ size f r j = b) ->
  attained f AddRemove (Z.of_nat q * b).
Proof.
  intros F O A. rewrite <- total_const.
  replace (total q (fun _ => b)) with (norm f q m n (vector r)).
  - apply attained_add; auto.
  - rewrite norm_vector by auto. apply total_ext. intros j J.
    destruct (A j J). destruct (cell r j); congruence.
Qed.

Lemma apart_attained f b r s : measure f -> ok r -> ok s ->
  (forall j, (j < q)%nat -> cell r j <> None /\ cell s j <> None /\ cell r j <> cell s j
    /\ size f r j = b /\ size f s j = b) ->
  attained f Replace (Z.of_nat q * (2 * b)).
Proof.
  intros F O P A. rewrite <- total_const.
  replace (total q (fun _ => 2 * b))
    with (norm f q m n (fun j c k => vector r j c k - vector s j c k)).
  - apply attained_replace; auto.
  - rewrite norm_difference by auto. apply total_ext. intros j J.
    destruct (A j J) as (? & ? & ? & ? & ?).
    destruct (cell r j), (cell s j); try congruence.
    destruct (Nat.eqb_spec n0 n1); [congruence|lia].
Qed.

Lemma same_attained f d r s : measure f -> ok r -> ok s ->
  (forall j, (j < q)%nat -> cell r j <> None /\ cell r j = cell s j /\ apart f r s j = d) ->
  attained f Replace (Z.of_nat q * d).
Proof.
  intros F O P A. rewrite <- total_const.
  replace (total q (fun _ => d))
    with (norm f q m n (fun j c k => vector r j c k - vector s j c k)).
  - apply attained_replace; auto.
  - rewrite norm_difference by auto. apply total_ext. intros j J.
    destruct (A j J) as (? & E & ?). rewrite <- E.
    destruct (cell r j); [|congruence]. now rewrite Nat.eqb_refl.
Qed.
End Cells.

(** What is proved of a query: its norms hold, under both relations, for all tables ... *)
Definition bounded {Row} (ok : Row -> Prop) v q m n (l1 squares entries : relation -> Z) : Prop :=
  forall rel, holds Row ok v q m n Z.abs rel (l1 rel)
    /\ holds Row ok v q m n square rel (squares rel)
    /\ holds Row ok v q m n touch rel (entries rel).

(** ... and some tables attain them. *)
Definition reached {Row} (ok : Row -> Prop) v q m n (rel : relation) (l1 squares : Z) : Prop :=
  attained Row ok v q m n Z.abs rel l1 /\ attained Row ok v q m n square rel squares.

(** ** Counts: [q] histograms, a row adds at most [u] to its cell of each

    Weights are in [0, u]. *)
Section Counts.
Variable Row : Type.
Variable cell : Row -> nat -> option nat.
Variable weight : Row -> Z.
Variables (q : nat) (m : nat -> nat) (u : Z).
Hypothesis positive : 0 < u.

Definition counted (r : Row) : Prop := inside Row cell q m r /\ 0 <= weight r <= u.
Definition counts_vector : Row -> array := vector Row cell (fun r _ _ => weight r).

Theorem counts_bounded : bounded counted counts_vector q m 1
  (fun rel => counts_l1 rel u (Z.of_nat q)) (fun rel => counts_squares rel u (Z.of_nat q))
  (fun rel => counts_entries rel (Z.of_nat q)).
Proof.
  assert (I : forall r, counted r -> inside Row cell q m r) by (intros r [? _]; auto).
  unfold counts_l1, counts_squares, counts_entries, counts_vector, rows.
  intros [|]; split; [|split| |split].
  - replace (1 * Z.of_nat q * u) with (Z.of_nat q * u) by lia.
    apply add_holds; auto using measure_abs; [lia|].
    intros r j [_ W] _. unfold size. cbn [total]. lia.
  - replace (1 * Z.of_nat q * (u * u)) with (Z.of_nat q * (u * u)) by lia.
    apply add_holds; auto using measure_square; [nia|].
    intros r j [_ W] _. unfold size, square. cbn [total]. nia.
  - replace (1 * Z.of_nat q) with (Z.of_nat q * 1) by lia.
    apply add_holds; auto using measure_touch; [lia|].
    intros r j [_ W] _. unfold size, touch. cbn [total]. destruct (Z.eqb_spec (weight r) 0); lia.
  - replace (2 * Z.of_nat q * u) with (Z.of_nat q * (2 * u)) by lia.
    apply replace_holds with (b := u); auto using measure_abs; [lia|lia| |].
    + intros r j [_ W] _. unfold size. cbn [total]. lia.
    + intros r s j [_ W] [_ X] _. unfold apart. cbn [total]. lia.
  - replace (2 * Z.of_nat q * (u * u)) with (Z.of_nat q * (2 * (u * u))) by lia.
    apply replace_holds with (b := u * u); auto using measure_square; [nia|lia| |].
    + intros r j [_ W] _. unfold size, square. cbn [total]. nia.
    + intros r s j [_ W] [_ X] _. unfold apart, square. cbn [total]. nia.
  - replace (2 * Z.of_nat q) with (Z.of_nat q * 2) by lia.
    apply replace_holds with (b := 1); auto using measure_touch; [lia|lia| |].
    + intros r j [_ W] _. unfold size, touch. cbn [total]. destruct (Z.eqb_spec (weight r) 0); lia.
    + intros r s j [_ W] [_ X] _. unfold apart, touch. cbn [total].
      destruct (Z.eqb_spec (weight r - weight s) 0); lia.
Qed.

Definition full (r : Row) : Prop :=
  counted r /\ weight r = u /\ forall j, (j < q)%nat -> cell r j <> None.

Theorem counts_reached_add r : full r ->
  reached counted counts_vector q m 1 AddRemove
    (counts_l1 AddRemove u (Z.of_nat q)) (counts_squares AddRemove u (Z.of_nat q)).
Proof.
  intros (C & W & J). unfold counts_l1, counts_squares, rows, counts_vector.
  assert (I : forall r, counted r -> inside Row cell q m r) by (intros ? [? _]; auto).
  split.
  - replace (1 * Z.of_nat q * u) with (Z.of_nat q * u) by lia.
    apply add_attained with (r := r); auto using measure_abs.
    intros. split; auto. unfold size. cbn [total]. lia.
  - replace (1 * Z.of_nat q * (u * u)) with (Z.of_nat q * (u * u)) by lia.
    apply add_attained with (r := r); auto using measure_square.
    intros. split; auto. unfold size, square. cbn [total]. nia.
Qed.

Theorem counts_reached_replace r s : full r -> full s ->
  (forall j, (j < q)%nat -> cell r j <> cell s j) ->
  reached counted counts_vector q m 1 Replace
    (counts_l1 Replace u (Z.of_nat q)) (counts_squares Replace u (Z.of_nat q)).
Proof.
  intros (C & W & J) (D & X & K) N. unfold counts_l1, counts_squares, rows, counts_vector.
  assert (I : forall r, counted r -> inside Row cell q m r) by (intros ? [? _]; auto).
  split.
  - replace (2 * Z.of_nat q * u) with (Z.of_nat q * (2 * u)) by lia.
    apply apart_attained with (r := r) (s := s); auto using measure_abs.
    intros. repeat split; auto; unfold size; cbn [total]; lia.
  - replace (2 * Z.of_nat q * (u * u)) with (Z.of_nat q * (2 * (u * u))) by lia.
    apply apart_attained with (r := r) (s := s); auto using measure_square.
    intros. repeat split; auto; unfold size, square; cbn [total]; nia.
Qed.
End Counts.
