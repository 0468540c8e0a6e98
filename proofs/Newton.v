(** Gradient and hessian sums of disjoint leaves: [constants.newton_sums].

    A row adds to its leaf a vector of gradients and a vector of hessians, one entry for each
    output. Their norms are inside a public promise, the [contribution]. *)
From Coq Require Import ZArith List Lia.
From DPBoost Require Import Sums Tables Constants Cells.
Import ListNotations.
Open Scope Z_scope.

Definition length1 (n : nat) (x : nat -> Z) : Z := total n (fun k => Z.abs (x k)).
Definition length2 (n : nat) (x : nat -> Z) : Z := total n (fun k => square (x k)).

(** A vector keeps the promise of [ContributionBound]. *)
Definition keeps (c : contribution) (x : nat -> Z) : Prop :=
  length1 (reach_entries c) x <= reach_l1 c /\ length2 (reach_entries c) x <= reach_squares c.

(** Two vectors keep its promise about their difference. *)
Definition keeps_apart (c : contribution) (x y : nat -> Z) : Prop :=
  match reach_difference c with
  | Some d => length2 (reach_entries c) (fun k => x k - y k) <= d
  | None => True
  end.

Lemma length2_apart n x y s : length2 n x <= s -> length2 n y <= s ->
  length2 n (fun k => x k - y k) <= 4 * s.
Proof.
  unfold length2. intros X Y.
  assert (total n (fun k => square (x k - y k))
    <= total n (fun k => 2 * square (x k) + 2 * square (y k))).
  { apply total_le. intros. unfold square.
    assert (0 <= (x k + y k) * (x k + y k)) by apply Z.square_nonneg. lia. }
  rewrite total_add, !total_scale in H. lia.
Qed.

Lemma length2_apart_positive n x y s : length2 n x <= s -> length2 n y <= s ->
  (forall k, (k < n)%nat -> 0 <= x k /\ 0 <= y k) ->
  length2 n (fun k => x k - y k) <= s * (if Nat.eqb n 1 then 1 else 2).
Proof.
  unfold length2. intros X Y P. destruct (Nat.eqb_spec n 1) as [->|_].
  - destruct (P 0%nat) as [A B]; [lia|]. cbn [total] in *. unfold square in *. nia.
  - assert (total n (fun k => square (x k - y k))
      <= total n (fun k => square (x k) + square (y k))).
    { apply total_le. intros. unfold square. destruct (P k); auto. nia. }
    rewrite total_add in H. lia.
Qed.

Lemma length1_apart n x y s : length1 n x <= s -> length1 n y <= s ->
  length1 n (fun k => x k - y k) <= 2 * s.
Proof.
  unfold length1. intros X Y.
  assert (total n (fun k => Z.abs (x k - y k))
    <= total n (fun k => Z.abs (x k) + Z.abs (y k))) by (apply total_le; lia).
  rewrite total_add in H. lia.
Qed.

Lemma keeps_scaled a c x : 0 < a -> keeps c x -> keeps (scaled a c) (fun k => a * x k).
Proof.
  intros A [L S]. unfold keeps, length1, length2, scaled in *. cbn [reach_l1 reach_squares reach_entries].
  split.
  - rewrite (total_ext _ _ (fun k => a * Z.abs (x k))) by (intros; lia).
    rewrite total_scale. nia.
  - rewrite (total_ext _ _ (fun k => a * a * square (x k))) by (intros; unfold square; lia).
    rewrite total_scale. nia.
Qed.

Lemma keeps_apart_scaled a c x y : 0 < a -> keeps_apart c x y ->
  keeps_apart (scaled a c) (fun k => a * x k) (fun k => a * y k).
Proof.
  unfold keeps_apart, length2, scaled. cbn [reach_difference reach_entries].
  destruct (reach_difference c) as [d|]; cbn [option_map]; auto. intros A L.
  rewrite (total_ext _ _ (fun k => a * a * square (x k - y k))) by (intros; unfold square; lia).
  rewrite total_scale. nia.
Qed.

Section Newton.
Variable Row : Type.
Variable leaf : Row -> option nat.
Variables gradients hessians : Row -> nat -> Z.
Variable leaves : nat.
Variables g h : contribution.
Hypothesis g_positive : 1 <= reach_l1 g /\ 1 <= reach_squares g.
Hypothesis h_positive : 1 <= reach_l1 h /\ 1 <= reach_squares h.

(** The promise about single rows. *)
Definition kept (r : Row) : Prop :=
  (forall d, leaf r = Some d -> (d < leaves)%nat)
  /\ keeps g (gradients r) /\ keeps h (hessians r)
  /\ forall k, (k < reach_entries h)%nat -> 0 <= hessians r k.

(** The rows of a loss keep it ... *)
Variable ok : Row -> Prop.
Hypothesis ok_kept : forall r, ok r -> kept r.
(** ... and so do any two of them: nothing is asked where no difference is promised. *)
Hypothesis pairs : forall r s, ok r -> ok s ->
  keeps_apart g (gradients r) (gradients s) /\ keeps_apart h (hessians r) (hessians s).

Definition newton_part (r : Row) (_ k : nat) : Z :=
  if Nat.ltb k (reach_entries g) then gradients r k else hessians r (k - reach_entries g)%nat.
Definition entries : nat := reach_entries g + reach_entries h.
Definition newton_vector : Row -> array := vector Row (fun r _ => leaf r) newton_part.
Definition one_leaf (_ : nat) : nat := leaves.

Lemma newton_size f r j : size Row newton_part entries f r j
  = total (reach_entries g) (fun k => f (gradients r k))
  + total (reach_entries h) (fun k => f (hessians r k)).
Proof.
  unfold size, entries. rewrite total_split. f_equal; apply total_ext; intros k K; unfold newton_part.
  - destruct (Nat.ltb_spec k (reach_entries g)); [reflexivity|lia].
  - destruct (Nat.ltb_spec (reach_entries g + k) (reach_entries g)); [lia|].
    do 2 f_equal. lia.
Qed.

Lemma newton_apart f r s j : apart Row newton_part entries f r s j
  = total (reach_entries g) (fun k => f (gradients r k - gradients s k))
  + total (reach_entries h) (fun k => f (hessians r k - hessians s k)).
Proof.
  unfold apart, entries. rewrite total_split. f_equal; apply total_ext; intros k K; unfold newton_part.
  - destruct (Nat.ltb_spec k (reach_entries g)); [reflexivity|lia].
  - destruct (Nat.ltb_spec (reach_entries g + k) (reach_entries g)); [lia|].
    replace (reach_entries g + k - reach_entries g)%nat with k by lia. reflexivity.
Qed.

Lemma ok_inside r : ok r -> inside Row (fun r _ => leaf r) 1 one_leaf r.
Proof. intros O j d _ E. destruct (ok_kept r O) as [L _]. apply L. auto. Qed.

Lemma touch_total n x : total n (fun k => touch (x k)) <= Z.of_nat n.
Proof.
  replace (Z.of_nat n) with (Z.of_nat n * 1) by lia. apply total_bound.
  intros. unfold touch. destruct (Z.eqb_spec (x k) 0); lia.
Qed.

Theorem newton_bounded : bounded ok newton_vector 1 one_leaf entries
  (fun rel => newton_l1 rel g h) (fun rel => newton_squares rel g h)
  (fun rel => newton_entries rel g h).
Proof.
  assert (I := ok_inside). unfold newton_vector.
  intros [|]; split; [|split| |split].
  - replace (newton_l1 AddRemove g h) with (Z.of_nat 1 * (reach_l1 g + reach_l1 h))
      by (unfold newton_l1, rows; lia).
    apply add_holds; auto using measure_abs; [lia|].
    intros r j O _. destruct (ok_kept r O) as (_ & [G _] & [H _] & _). rewrite newton_size. unfold length1 in *. lia.
  - replace (newton_squares AddRemove g h)
      with (Z.of_nat 1 * (reach_squares g + reach_squares h)) by (unfold newton_squares; lia).
    apply add_holds; auto using measure_square; [lia|].
    intros r j O _. destruct (ok_kept r O) as (_ & [_ G] & [_ H] & _). rewrite newton_size. unfold length2 in *. lia.
  - replace (newton_entries AddRemove g h) with (Z.of_nat 1 * Z.of_nat entries)
      by (unfold newton_entries, rows, entries; lia).
    apply add_holds; auto using measure_touch; [lia|].
    intros r j _ _. rewrite newton_size. unfold entries.
    assert (X := touch_total (reach_entries g) (gradients r)).
    assert (Y := touch_total (reach_entries h) (hessians r)). lia.
  - replace (newton_l1 Replace g h) with (Z.of_nat 1 * (2 * (reach_l1 g + reach_l1 h)))
      by (unfold newton_l1, rows; lia).
    apply replace_holds with (b := reach_l1 g + reach_l1 h); auto using measure_abs; [lia|lia| |].
    + intros r j O _. destruct (ok_kept r O) as (_ & [G _] & [H _] & _). rewrite newton_size. unfold length1 in *. lia.
    + intros r s j R S _.
      destruct (ok_kept r R) as (_ & [G _] & [H _] & _).
      destruct (ok_kept s S) as (_ & [G' _] & [H' _] & _). rewrite newton_apart.
      assert (X := length1_apart _ _ _ _ G G'). assert (Y := length1_apart _ _ _ _ H H').
      unfold length1 in *. lia.
  - replace (newton_squares Replace g h)
      with (Z.of_nat 1 * Z.max (gradients_apart g + hessians_apart h)
        (2 * (reach_squares g + reach_squares h))) by (unfold newton_squares; lia).
    apply replace_holds with (b := reach_squares g + reach_squares h);
      auto using measure_square; [lia|lia| |].
    + intros r j O _. destruct (ok_kept r O) as (_ & [_ G] & [_ H] & _). rewrite newton_size. unfold length2 in *. lia.
    + intros r s j R S _. destruct (pairs r s R S) as [PG PH].
      destruct (ok_kept r R) as (_ & [_ G] & [_ H] & P).
      destruct (ok_kept s S) as (_ & [_ G'] & [_ H'] & P'). rewrite newton_apart.
      assert (X : length2 (reach_entries g) (fun k => gradients r k - gradients s k)
        <= gradients_apart g).
      { unfold gradients_apart, keeps_apart in *.
        destruct (reach_difference g); [auto|]. apply length2_apart; auto. }
      assert (Y : length2 (reach_entries h) (fun k => hessians r k - hessians s k)
        <= hessians_apart h).
      { unfold hessians_apart, keeps_apart in *.
        destruct (reach_difference h); [auto|]. apply length2_apart_positive; auto. }
      unfold length2 in *. lia.
  - replace (newton_entries Replace g h) with (Z.of_nat 1 * (2 * Z.of_nat entries))
      by (unfold newton_entries, rows, entries; lia).
    apply replace_holds with (b := Z.of_nat entries); auto using measure_touch; [lia|lia| |].
    + intros r j _ _. rewrite newton_size. unfold entries.
      assert (X := touch_total (reach_entries g) (gradients r)).
      assert (Y := touch_total (reach_entries h) (hessians r)). lia.
    + intros r s j _ _ _. rewrite newton_apart. unfold entries.
      assert (X := touch_total (reach_entries g) (fun k => gradients r k - gradients s k)).
      assert (Y := touch_total (reach_entries h) (fun k => hessians r k - hessians s k)).
      cbv beta in *. lia.
Qed.

(** A row whose vectors go as far as the promise. *)
Definition extreme (r : Row) : Prop :=
  ok r /\ leaf r <> None
  /\ length1 (reach_entries g) (gradients r) = reach_l1 g
  /\ length2 (reach_entries g) (gradients r) = reach_squares g
  /\ length1 (reach_entries h) (hessians r) = reach_l1 h
  /\ length2 (reach_entries h) (hessians r) = reach_squares h.

Theorem newton_reached_add r : extreme r ->
  reached ok newton_vector 1 one_leaf entries AddRemove
    (newton_l1 AddRemove g h) (newton_squares AddRemove g h).
Proof.
  intros (K & L & A & B & C & D). assert (I := ok_inside). unfold newton_vector. split.
  - replace (newton_l1 AddRemove g h) with (Z.of_nat 1 * (reach_l1 g + reach_l1 h))
      by (unfold newton_l1, rows; lia).
    apply add_attained with (r := r); auto using measure_abs.
    intros. split; auto. rewrite newton_size. unfold length1 in *. lia.
  - replace (newton_squares AddRemove g h)
      with (Z.of_nat 1 * (reach_squares g + reach_squares h)) by (unfold newton_squares; lia).
    apply add_attained with (r := r); auto using measure_square.
    intros. split; auto. rewrite newton_size. unfold length2 in *. lia.
Qed.

(** Replace: L1 by two extreme rows of two leaves; L2 by these, or by two rows of one leaf whose
    vectors are as far apart as the promise lets them be. *)
Theorem newton_reached_replace r s t u : extreme r -> extreme s -> leaf r <> leaf s ->
  ok t -> ok u -> leaf t <> None -> leaf t = leaf u ->
  length2 (reach_entries g) (fun k => gradients t k - gradients u k) = gradients_apart g ->
  length2 (reach_entries h) (fun k => hessians t k - hessians u k) = hessians_apart h ->
  reached ok newton_vector 1 one_leaf entries Replace
    (newton_l1 Replace g h) (newton_squares Replace g h).
Proof.
  intros (K & L & A & B & C & D) (K' & L' & A' & B' & C' & D') N T U M E X Y.
  assert (I := ok_inside). unfold newton_vector. split.
  - replace (newton_l1 Replace g h) with (Z.of_nat 1 * (2 * (reach_l1 g + reach_l1 h)))
      by (unfold newton_l1, rows; lia).
    apply apart_attained with (r := r) (s := s); auto using measure_abs.
    intros. rewrite !newton_size. unfold length1 in *. repeat split; auto; lia.
  - unfold newton_squares.
    destruct (Z.max_spec (gradients_apart g + hessians_apart h)
      (2 * (reach_squares g + reach_squares h))) as [[_ ->]|[_ ->]].
    + replace (2 * (reach_squares g + reach_squares h))
        with (Z.of_nat 1 * (2 * (reach_squares g + reach_squares h))) by lia.
      apply apart_attained with (r := r) (s := s); auto using measure_square.
      intros. rewrite !newton_size. unfold length2 in *. repeat split; auto; lia.
    + replace (gradients_apart g + hessians_apart h)
        with (Z.of_nat 1 * (gradients_apart g + hessians_apart h)) by lia.
      apply same_attained with (r := t) (s := u); auto using measure_square.
      intros. rewrite !newton_apart. unfold length2 in *. repeat split; auto; lia.
Qed.
End Newton.

(** ** Domains on which the bounds are attained *)

Record newton_row := NewtonRow {
  row_leaf : option nat; row_gradients : nat -> Z; row_hessians : nat -> Z }.

Definition at_first (a : Z) (k : nat) : Z := if Nat.eqb k 0 then a else 0.
Definition at_second (a : Z) (k : nat) : Z := if Nat.eqb k 1 then a else 0.

Lemma total_first n a f : f 0 = 0 -> (0 < n)%nat -> total n (fun k => f (at_first a k)) = f a.
Proof.
  intros F N. rewrite (total_one n _ 0%nat N); [reflexivity|].
  intros i _ E. unfold at_first. destruct (Nat.eqb_spec i 0); [lia|auto].
Qed.

Lemma total_second n a f : f 0 = 0 -> (1 < n)%nat -> total n (fun k => f (at_second a k)) = f a.
Proof.
  intros F N. rewrite (total_one n _ 1%nat N); [reflexivity|].
  intros i _ E. unfold at_second. destruct (Nat.eqb_spec i 1); [lia|auto].
Qed.

(** Outputs with one number of at most [b]: [ContributionBound(l1=b, squares=b * b, entries=e)]. *)
Definition alone (b : Z) (e : nat) : contribution :=
  {| reach_l1 := b; reach_squares := b * b; reach_entries := e; reach_difference := None |}.

Lemma total_first_scaled n c a f : f 0 = 0 -> (0 < n)%nat ->
  total n (fun k => f (c * at_first a k)) = f (c * a).
Proof.
  intros F N. rewrite <- (total_first n (c * a) f F N). apply total_ext. intros.
  unfold at_first. destruct (Nat.eqb k 0); f_equal; lia.
Qed.

Lemma total_second_scaled n c a f : f 0 = 0 -> (1 < n)%nat ->
  total n (fun k => f (c * at_second a k)) = f (c * a).
Proof.
  intros F N. rewrite <- (total_second n (c * a) f F N). apply total_ext. intros.
  unfold at_second. destruct (Nat.eqb k 1); f_equal; lia.
Qed.

(** ** [SumScale]: public factors divide one release between gradients and hessians *)

Section Scaled.
Variable Row : Type.
Variable leaf : Row -> option nat.
Variables gradients hessians : Row -> nat -> Z.
Variable leaves : nat.
Variables g h : contribution.
Variables a b : Z.
Hypothesis a_positive : 1 <= a.
Hypothesis b_positive : 1 <= b.
Hypothesis g_positive : 1 <= reach_l1 g /\ 1 <= reach_squares g.
Hypothesis h_positive : 1 <= reach_l1 h /\ 1 <= reach_squares h.
Variable ok : Row -> Prop.
Hypothesis ok_kept : forall r, ok r -> kept Row leaf gradients hessians leaves g h r.
Hypothesis pairs : forall r s, ok r -> ok s ->
  keeps_apart g (gradients r) (gradients s) /\ keeps_apart h (hessians r) (hessians s).

Definition scaled_vector : Row -> array := newton_vector Row leaf
  (fun r k => a * gradients r k) (fun r k => b * hessians r k) (scaled a g).

Lemma scaled_kept r : ok r -> kept Row leaf (fun r k => a * gradients r k)
  (fun r k => b * hessians r k) leaves (scaled a g) (scaled b h) r.
Proof.
  intros O. destruct (ok_kept r O) as (L & G & H & P). split; [auto|split; [|split]].
  - apply keeps_scaled; auto. lia.
  - apply keeps_scaled; auto. lia.
  - intros k K. specialize (P k K). nia.
Qed.

Lemma scaled_pairs r s : ok r -> ok s ->
  keeps_apart (scaled a g) (fun k => a * gradients r k) (fun k => a * gradients s k)
  /\ keeps_apart (scaled b h) (fun k => b * hessians r k) (fun k => b * hessians s k).
Proof.
  intros R S. destruct (pairs r s R S). split; apply keeps_apart_scaled; auto; lia.
Qed.

Lemma scaled_positive c z : 1 <= z -> 1 <= reach_l1 c /\ 1 <= reach_squares c ->
  1 <= reach_l1 (scaled z c) /\ 1 <= reach_squares (scaled z c).
Proof. unfold scaled. cbn [reach_l1 reach_squares]. intros. split; nia. Qed.

Theorem scaled_bounded :
  bounded ok scaled_vector 1 (one_leaf leaves) (entries (scaled a g) (scaled b h))
    (fun rel => newton_l1 rel (scaled a g) (scaled b h))
    (fun rel => newton_squares rel (scaled a g) (scaled b h))
    (fun rel => newton_entries rel (scaled a g) (scaled b h)).
Proof.
  apply newton_bounded; auto using scaled_kept, scaled_pairs, scaled_positive.
Qed.
End Scaled.

Section Attained.
Variables (a b : Z) (d e : nat) (leaves : nat) (fa fb : Z).
Hypothesis fa_positive : 1 <= fa.
Hypothesis fb_positive : 1 <= fb.
Hypothesis a_positive : 1 <= a.
Hypothesis b_positive : 1 <= b.
Hypothesis d_positive : (1 <= d)%nat.
Hypothesis e_positive : (1 <= e)%nat.
Hypothesis two_leaves : (2 <= leaves)%nat.

(** All rows that keep the promise. *)
Definition alone_ok : newton_row -> Prop :=
  kept newton_row row_leaf row_gradients row_hessians leaves (alone a d) (alone b e).
Definition alone_vector : newton_row -> array :=
  scaled_vector newton_row row_leaf row_gradients row_hessians (alone a d) fa fb.
Let G := scaled fa (alone a d).
Let H := scaled fb (alone b e).

Let ok_row l x y : (l < leaves)%nat -> keeps (alone a d) x -> keeps (alone b e) y ->
  (forall k, 0 <= y k) -> alone_ok (NewtonRow (Some l) x y).
Proof. intros L X Y P. repeat split; simpl; try apply X; try apply Y; auto. intros ? [=]. lia. Qed.

Let first_kept z n : 1 <= z -> (1 <= n)%nat -> keeps (alone z n) (at_first z).
Proof.
  intros. split; unfold length1, length2; simpl reach_entries; rewrite total_first;
  unfold square; simpl; auto; lia.
Qed.

Let minus_kept z n : 1 <= z -> (1 <= n)%nat -> keeps (alone z n) (at_first (- z)).
Proof.
  intros. split; unfold length1, length2; simpl reach_entries; rewrite total_first;
  unfold square; cbn [alone reach_l1 reach_squares]; auto; lia.
Qed.

Let first_positive z k : 1 <= z -> 0 <= at_first z k.
Proof. intros. unfold at_first. destruct (Nat.eqb k 0); lia. Qed.

Let extreme_row l : (l < leaves)%nat ->
  extreme newton_row row_leaf (fun r k => fa * row_gradients r k) (fun r k => fb * row_hessians r k)
    G H alone_ok (NewtonRow (Some l) (at_first a) (at_first b)).
Proof.
  intros L. split; [apply ok_row; auto|]. split; [discriminate|].
  unfold length1, length2, G, H, scaled.
  cbn [alone reach_entries reach_l1 reach_squares row_gradients row_hessians].
  rewrite !total_first_scaled; auto. unfold square. repeat split; lia.
Qed.

Theorem alone_bounded :
  bounded alone_ok alone_vector 1 (one_leaf leaves) (entries G H)
    (fun rel => newton_l1 rel G H) (fun rel => newton_squares rel G H)
    (fun rel => newton_entries rel G H).
Proof.
  clear extreme_row first_positive minus_kept first_kept ok_row.
  clear two_leaves d_positive e_positive.
  apply scaled_bounded; cbn [alone reach_l1 reach_squares]; auto; try nia.
  intros. split; exact I.
Qed.

Theorem alone_reached rel :
  reached alone_ok alone_vector 1 (one_leaf leaves) (entries G H) rel
    (newton_l1 rel G H) (newton_squares rel G H).
Proof.
  assert (K := scaled_kept newton_row row_leaf row_gradients row_hessians leaves (alone a d)
    (alone b e) fa fb fa_positive fb_positive alone_ok (fun r O => O)).
  destruct rel.
  - apply (newton_reached_add _ _ _ _ leaves _ _ _ K _ (extreme_row 0 ltac:(lia))).
  - pose (y := if Nat.eqb e 1 then at_first 0 else at_second b).
    apply (newton_reached_replace _ _ _ _ leaves G H alone_ok K
      (NewtonRow (Some 0%nat) (at_first a) (at_first b))
      (NewtonRow (Some 1%nat) (at_first a) (at_first b))
      (NewtonRow (Some 0%nat) (at_first a) (at_first b))
      (NewtonRow (Some 0%nat) (at_first (- a)) y));
      try apply extreme_row; try apply ok_row; auto; try discriminate; try lia.
    + unfold y, keeps, length1, length2. cbn [alone reach_entries reach_l1 reach_squares].
      destruct (Nat.eqb_spec e 1).
      * rewrite !total_first; auto; unfold square; lia.
      * rewrite !total_second; auto; unfold square; lia.
    + intros k. unfold y. destruct (Nat.eqb e 1); unfold at_first, at_second;
      destruct (Nat.eqb k _); lia.
    + unfold length2, gradients_apart, G, scaled.
      cbn [alone reach_entries reach_difference reach_squares row_gradients option_map].
      rewrite (total_ext d _ (fun k => square (fa * at_first (2 * a) k))).
      * rewrite total_first_scaled; auto; unfold square; lia.
      * intros. unfold at_first. destruct (Nat.eqb k 0); f_equal; lia.
    + unfold length2, hessians_apart, H, y, scaled.
      cbn [alone reach_entries reach_difference reach_squares row_hessians option_map].
      destruct (Nat.eqb_spec e 1).
      * rewrite (total_ext e _ (fun k => square (fb * at_first b k))).
        -- rewrite total_first_scaled; auto; unfold square; lia.
        -- intros. unfold at_first. destruct (Nat.eqb k 0); f_equal; lia.
      * rewrite (total_ext e _
          (fun k => square (fb * at_first b k) + square (fb * at_second b k))).
        -- rewrite total_add, total_first_scaled, total_second_scaled; auto; unfold square; try lia.
        -- intros. unfold at_first, at_second, square. destruct k as [|[|k]]; simpl; lia.
Qed.
End Attained.
