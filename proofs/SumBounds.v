(** The bounds of queries whose rows add numbers of either sign, continued from [Bounds]. *)
From Coq Require Import ZArith List Lia.
From DPBoost Require Import Sums Tables Constants Cells Newton.
Import ListNotations.
Open Scope Z_scope.

(** ** Gradient and hessian sums *)

(** [newton_sums.SumScale], for every loss: rows that keep the promises of its two
    [ContributionBound]s, whatever they are, and that of their difference where there is one. *)
Definition SumScale_bounded := scaled_bounded.
(** Attained by the rows of a promise of single numbers, in any number of outputs. *)
Definition SumScale_reached := alone_reached.

(** [boosting_queries.LeafSums]: the leaves of a public partition. *)
Theorem LeafSums_bounded (Row : Type) (leaf : Row -> option nat) gradients hessians leaves g h a b
  (ok : Row -> Prop) : 1 <= a -> 1 <= b ->
  1 <= reach_l1 g /\ 1 <= reach_squares g -> 1 <= reach_l1 h /\ 1 <= reach_squares h ->
  (forall r, ok r -> kept Row leaf gradients hessians leaves g h r) ->
  (forall r s, ok r -> ok s -> keeps_apart g (gradients r) (gradients s)
    /\ keeps_apart h (hessians r) (hessians s)) ->
  bounded ok (scaled_vector Row leaf gradients hessians g a b) 1 (one_leaf leaves)
    (entries (scaled a g) (scaled b h))
    (fun rel => newton_l1 rel (scaled a g) (scaled b h))
    (fun rel => newton_squares rel (scaled a g) (scaled b h))
    (fun rel => newton_entries rel (scaled a g) (scaled b h)).
Proof. intros. apply scaled_bounded; auto. Qed.

Theorem LeafSums_reached x y outputs leaves a b rel :
  1 <= a -> 1 <= b -> 1 <= x -> 1 <= y -> (1 <= outputs)%nat -> (2 <= leaves)%nat ->
  let g := scaled a (alone x outputs) in let h := scaled b (alone y outputs) in
  reached (alone_ok x y outputs outputs leaves) (alone_vector x outputs a b) 1 (one_leaf leaves)
    (entries g h) rel (newton_l1 rel g h) (newton_squares rel g h).
Proof. intros. apply alone_reached; auto. Qed.

(** [label_queries.LabelTotals]: one label and one weight, nodes in the place of leaves. *)
Theorem LabelTotals_bounded x y nodes a b : 1 <= a -> 1 <= b -> 1 <= x -> 1 <= y ->
  let g := scaled a (single x) in let h := scaled b (single y) in
  bounded (alone_ok x y 1 1 nodes) (alone_vector x 1 a b) 1 (one_leaf nodes) (entries g h)
    (fun rel => newton_l1 rel g h) (fun rel => newton_squares rel g h)
    (fun rel => newton_entries rel g h).
Proof. intros. apply (alone_bounded x y 1 1 nodes a b); auto; lia. Qed.

Theorem LabelTotals_reached x y nodes a b rel : 1 <= a -> 1 <= b -> 1 <= x -> 1 <= y ->
  (2 <= nodes)%nat -> let g := scaled a (single x) in let h := scaled b (single y) in
  reached (alone_ok x y 1 1 nodes) (alone_vector x 1 a b) 1 (one_leaf nodes) (entries g h) rel
    (newton_l1 rel g h) (newton_squares rel g h).
Proof. intros. apply (alone_reached x y 1 1 nodes a b); auto; lia. Qed.

(** Rows of one gradient and of a weight in units. *)
Record pair_row := PairRow { pair_cell : option nat; pair_sum : Z; pair_weight : Z }.
Definition pair_sums (r : pair_row) (_ : nat) := pair_sum r.
Definition pair_weights (r : pair_row) (_ : nat) := pair_weight r.

Lemma single_kept u x : Z.abs x <= u -> keeps (single u) (fun _ => x).
Proof.
  intros X. unfold keeps, length1, length2, single, square.
  cbn [reach_l1 reach_squares reach_entries total]. split; [lia|nia].
Qed.

(** [level_queries.LeafTotals]: a row that is in a node adds its gradient, and [u] to the count. *)
Section LeafTotals.
Variables (nodes : nat) (u : Z).
Hypothesis positive : 1 <= u.
Definition leaf_totals_ok (r : pair_row) : Prop :=
  (forall d, pair_cell r = Some d -> (d < nodes)%nat)
  /\ Z.abs (pair_sum r) <= u /\ pair_weight r = u.
Definition leaf_totals : pair_row -> array :=
  newton_vector pair_row pair_cell pair_sums pair_weights (single u).

Let ok_kept r : leaf_totals_ok r ->
  kept pair_row pair_cell pair_sums pair_weights nodes (single u) (single u) r.
Proof.
  intros (C & S & W). split; [auto|split; [|split]].
  - apply single_kept; auto.
  - apply single_kept. unfold pair_weights. lia.
  - intros. unfold pair_weights. lia.
Qed.

Let whole c := PairRow (Some c) u u.
Let whole_extreme c : (c < nodes)%nat ->
  extreme pair_row pair_cell pair_sums pair_weights (single u) (single u) leaf_totals_ok (whole c).
Proof.
  intros C. repeat split; cbn; try lia; try discriminate; try (unfold square; lia).
  intros ? [=]. lia.
Qed.

Theorem LeafTotals_bounded : bounded leaf_totals_ok leaf_totals 1 (one_leaf nodes) 2
  (fun rel => newton_l1 rel (single u) (single u))
  (fun rel => newton_squares rel (single u) (single u))
  (fun rel => newton_entries rel (single u) (single u)).
Proof.
  apply newton_bounded with (leaves := nodes) (h := single u); cbn; auto; try nia.
Qed.

Theorem LeafTotals_reached_add : (1 <= nodes)%nat ->
  reached leaf_totals_ok leaf_totals 1 (one_leaf nodes) 2 AddRemove
    (newton_l1 AddRemove (single u) (single u)) (newton_squares AddRemove (single u) (single u)).
Proof.
  intros N. apply (newton_reached_add _ _ _ _ nodes _ _ _ ok_kept _ (whole_extreme 0 ltac:(lia))).
Qed.

(** Under replace in L1; in L2 the counts of two rows of one node do not differ, so that 4 is
    attained where 5 is charged (squared, in units of [u]). *)
Theorem LeafTotals_reached_replace_l1 : (2 <= nodes)%nat ->
  attained pair_row leaf_totals_ok leaf_totals 1 (one_leaf nodes) 2 Z.abs Replace
    (newton_l1 Replace (single u) (single u)).
Proof.
  intros N. replace (newton_l1 Replace (single u) (single u)) with (Z.of_nat 1 * (2 * (2 * u)))
    by (unfold newton_l1, rows; cbn [single reach_l1]; lia).
  apply apart_attained with (r := whole 0) (s := whole 1); auto using measure_abs.
  - apply (ok_inside _ _ _ _ _ _ _ _ ok_kept).
  - apply whole_extreme. lia.
  - apply whole_extreme. lia.
  - intros. change 2%nat with (entries (single u) (single u)).
    rewrite !newton_size. unfold pair_sums, pair_weights, whole.
    cbn [single reach_entries total pair_sum pair_weight pair_cell].
    repeat split; try discriminate; lia.
Qed.
End LeafTotals.

(** [start_queries.MeanAndRows]: a row that takes part adds its scaled label and its weight, one
    that does not adds [u] to the entry of the others. *)
Section MeanAndRows.
Variable u : Z.
Hypothesis positive : 1 <= u.
Definition mean_ok (r : pair_row) : Prop :=
  (forall d, pair_cell r = Some d -> (d < 2)%nat)
  /\ Z.abs (pair_sum r) <= pair_weight r <= u
  /\ (pair_cell r = Some 1%nat -> pair_sum r = 0 /\ pair_weight r = u).
Definition mean_and_rows : pair_row -> array :=
  newton_vector pair_row pair_cell pair_sums pair_weights (single u).

Let ok_kept r : mean_ok r ->
  kept pair_row pair_cell pair_sums pair_weights 2 (single u) (single u) r.
Proof.
  intros (C & S & _). split; [auto|split; [|split]].
  - apply single_kept. unfold pair_sums. lia.
  - apply single_kept. unfold pair_weights. lia.
  - intros. unfold pair_weights. lia.
Qed.

Theorem MeanAndRows_bounded : bounded mean_ok mean_and_rows 1 (one_leaf 2) 2
  (fun rel => newton_l1 rel (single u) (single u))
  (fun rel => newton_squares rel (single u) (single u))
  (fun rel => newton_entries rel (single u) (single u)).
Proof. apply newton_bounded with (leaves := 2%nat) (h := single u); cbn; auto; try nia. Qed.

Theorem MeanAndRows_reached_add :
  reached mean_ok mean_and_rows 1 (one_leaf 2) 2 AddRemove
    (newton_l1 AddRemove (single u) (single u)) (newton_squares AddRemove (single u) (single u)).
Proof.
  apply (newton_reached_add _ _ _ _ 2 _ _ _ ok_kept (PairRow (Some 0%nat) u u)).
  repeat split; cbn; try lia; try discriminate; try (unfold square; lia).
  intros ? [=]. lia.
Qed.

(** Under replace nobody attains the bound: a label is never larger than its weight. The largest
    L1 change is 3 where 4 is charged, the largest squared one 4 where 5 is (in units of [u]). *)
Theorem MeanAndRows_replace_is_loose :
  holds pair_row mean_ok mean_and_rows 1 (one_leaf 2) 2 Z.abs Replace (3 * u)
  /\ holds pair_row mean_ok mean_and_rows 1 (one_leaf 2) 2 square Replace (4 * (u * u)).
Proof.
  assert (J := ok_inside _ _ _ _ _ _ _ _ ok_kept).
  assert (A : forall f r, size pair_row (newton_part pair_row pair_sums pair_weights (single u)) 2 f r 0
    = f (pair_sum r) + f (pair_weight r)) by (intros; unfold size; cbn [total]; reflexivity).
  assert (B : forall f r s,
    apart pair_row (newton_part pair_row pair_sums pair_weights (single u)) 2 f r s 0
    = f (pair_sum r - pair_sum s) + f (pair_weight r - pair_weight s))
    by (intros; unfold apart; cbn [total]; reflexivity).
  split; apply holds_replace; intros r s R S; unfold mean_and_rows, newton_vector;
  rewrite norm_difference by auto using measure_abs, measure_square;
  cbn [total]; rewrite !A, B; destruct R as (C & L & O), S as (D & M & P);
  set (x := pair_sum r) in *; set (y := pair_sum s) in *;
  set (v := pair_weight r) in *; set (w := pair_weight s) in *; clearbody x y v w;
  destruct (pair_cell r) as [c|], (pair_cell s) as [d|]; try (unfold square; nia);
  destruct (Nat.eqb_spec c d); try (unfold square; nia);
  specialize (C _ eq_refl); specialize (D _ eq_refl);
  assert ((c = 1 \/ d = 1)%nat) as [->| ->] by lia;
  try destruct (O eq_refl); try destruct (P eq_refl); subst; unfold square; try nia.
Qed.
End MeanAndRows.

(** ** [level_queries.LevelSums]: gradients and counts in a cell of every feature *)
Record level_row := LevelRow { level_node : option nat; level_bin : nat -> nat; level_gradient : Z }.

Section LevelSums.
Variables (nodes bins features : nat) (u : Z).
Hypothesis positive : 1 <= u.
Let cell (r : level_row) (j : nat) := match level_node r with
  | Some k => Some (k * bins + level_bin r j)%nat | None => None end.
Let part (r : level_row) (_ k : nat) := if Nat.eqb k 0 then level_gradient r else u.
Let cells (_ : nat) := (nodes * bins)%nat.
Definition level_ok (r : level_row) : Prop :=
  (forall k, level_node r = Some k -> (k < nodes)%nat) /\ (forall j, (level_bin r j < bins)%nat)
  /\ Z.abs (level_gradient r) <= u.
Definition level : level_row -> array := vector level_row cell part.

Let inside_ok r : level_ok r -> inside level_row cell features cells r.
Proof.
  intros (N & B & _) j d _. unfold cell, cells. destruct (level_node r); intros [=]. subst.
  assert (n < nodes)%nat by auto. specialize (B j). nia.
Qed.

Theorem LevelSums_bounded rel :
  holds level_row level_ok level features cells 2 Z.abs rel (level_l1 rel (Z.of_nat features) u)
  /\ holds level_row level_ok level features cells 2 touch rel
    (level_entries rel (Z.of_nat features)).
Proof.
  assert (T : forall z, 0 <= touch z <= 1)
    by (intros z; unfold touch; destruct (Z.eqb_spec z 0); lia).
  unfold level. destruct rel; split.
  - replace (level_l1 AddRemove (Z.of_nat features) u) with (Z.of_nat features * (2 * u))
      by (unfold level_l1, rows; lia).
    apply add_holds; auto using measure_abs; [lia|].
    intros r j (_ & _ & G) _. unfold size, part. cbn [total Nat.eqb level_gradient]. lia.
  - replace (level_entries AddRemove (Z.of_nat features)) with (Z.of_nat features * 2)
      by (unfold level_entries, rows; lia).
    apply add_holds; auto using measure_touch; [lia|].
    intros r j _ _. unfold size. cbn [total part Nat.eqb].
    assert (A := T (level_gradient r)). assert (B := T u). unfold part. cbn [Nat.eqb]. lia.
  - replace (level_l1 Replace (Z.of_nat features) u) with (Z.of_nat features * (4 * u))
      by (unfold level_l1, rows; lia).
    apply replace_holds with (b := 2 * u); auto using measure_abs; [lia|lia| |].
    + intros r j (_ & _ & G) _. unfold size, part. cbn [total Nat.eqb level_gradient]. lia.
    + intros r s j (_ & _ & G) (_ & _ & H) _. unfold apart, part. cbn [total Nat.eqb level_gradient]. lia.
  - replace (level_entries Replace (Z.of_nat features)) with (Z.of_nat features * 4)
      by (unfold level_entries, rows; lia).
    apply replace_holds with (b := 2); auto using measure_touch; [lia|lia| |].
    + intros r j _ _. unfold size, part. cbn [total Nat.eqb].
      assert (A := T (level_gradient r)). assert (B := T u). lia.
    + intros r s j _ _ _. unfold apart, part. cbn [total Nat.eqb].
      assert (A := T (level_gradient r - level_gradient s)). assert (B := T (u - u)). lia.
Qed.

Theorem LevelSums_reached rel : (1 <= nodes)%nat -> (2 <= bins)%nat ->
  attained level_row level_ok level features cells 2 Z.abs rel (level_l1 rel (Z.of_nat features) u).
Proof.
  intros N B. unfold level.
  assert (O : forall b, (b < 2)%nat -> level_ok (LevelRow (Some 0%nat) (fun _ => b) u)).
  { intros b L. repeat split; cbn; intros; try lia. injection H as <-. lia. }
  destruct rel.
  - replace (level_l1 AddRemove (Z.of_nat features) u) with (Z.of_nat features * (2 * u))
      by (unfold level_l1, rows; lia).
    apply add_attained with (r := LevelRow (Some 0%nat) (fun _ => 0%nat) u); auto using measure_abs.
    intros. split; [discriminate|]. unfold size, part. cbn [total Nat.eqb level_gradient]. lia.
  - replace (level_l1 Replace (Z.of_nat features) u) with (Z.of_nat features * (2 * (2 * u)))
      by (unfold level_l1, rows; lia).
    apply apart_attained with (r := LevelRow (Some 0%nat) (fun _ => 0%nat) u)
      (s := LevelRow (Some 0%nat) (fun _ => 1%nat) u); auto using measure_abs.
    intros. unfold size, part. cbn [total Nat.eqb level_gradient]. repeat split; try discriminate; try lia.
Qed.
End LevelSums.

(** ** [evaluation_queries.ErrorSums]: parts of an error, of which the label alone has a sign *)
Record error_row := ErrorRow { error_group : nat; error_part : nat -> Z }.

Section ErrorSums.
Variables (groups parts label : nat) (u : Z).
Hypothesis positive : 1 <= u.
Hypothesis three_parts : (3 <= parts)%nat.
Let cell (r : error_row) (_ : nat) := Some (error_group r).
Let part (r : error_row) (_ k : nat) := error_part r k.
Definition errors_ok (r : error_row) : Prop := (error_group r < groups)%nat
  /\ forall k, (k < parts)%nat ->
    Z.abs (error_part r k) <= u /\ (k <> label -> 0 <= error_part r k).
Definition errors : error_row -> array := vector error_row cell part.

Let inside_ok r : errors_ok r -> inside error_row cell 1 (fun _ => groups) r.
Proof. intros [G _] j d _ [=]. lia. Qed.

Let at_label (k : nat) (z : Z) := if Nat.eqb k label then z else 0.
Let total_label z : 0 <= z -> total parts (fun k => at_label k z) <= z.
Proof.
  intros P. unfold at_label. destruct (Nat.lt_ge_cases label parts).
  - rewrite (total_one parts _ label); auto.
    + rewrite Nat.eqb_refl. lia.
    + intros i _ N. destruct (Nat.eqb_spec i label); congruence.
  - rewrite total_zero; auto. intros k K. destruct (Nat.eqb_spec k label); [lia|auto].
Qed.

Theorem ErrorSums_bounded : bounded errors_ok errors 1 (fun _ => groups) parts
  (fun rel => errors_l1 rel u (Z.of_nat parts)) (fun rel => errors_squares rel u (Z.of_nat parts))
  (fun rel => Z.of_nat parts * rows rel).
Proof.
  assert (T : forall z, 0 <= touch z <= 1)
    by (intros z; unfold touch; destruct (Z.eqb_spec z 0); lia).
  unfold errors. intros [|]; split; [|split| |split].
  - replace (errors_l1 AddRemove u (Z.of_nat parts)) with (Z.of_nat 1 * (Z.of_nat parts * u))
      by (unfold errors_l1, rows; lia).
    apply add_holds; auto using measure_abs; [nia|].
    intros r j [_ P] _. apply total_bound. intros k K. apply (P k K).
  - replace (errors_squares AddRemove u (Z.of_nat parts))
      with (Z.of_nat 1 * (Z.of_nat parts * (u * u))) by (unfold errors_squares, rows; lia).
    apply add_holds; auto using measure_square; [nia|].
    intros r j [_ P] _. apply total_bound. intros k K. destruct (P k K) as [A _].
    unfold square, part. nia.
  - replace (Z.of_nat parts * rows AddRemove) with (Z.of_nat 1 * (Z.of_nat parts * 1))
      by (unfold rows; lia).
    apply add_holds; auto using measure_touch; [lia|].
    intros r j _ _. apply total_bound. intros k K. apply T.
  - replace (errors_l1 Replace u (Z.of_nat parts)) with (Z.of_nat 1 * (2 * (Z.of_nat parts * u)))
      by (unfold errors_l1, rows; lia).
    apply replace_holds with (b := Z.of_nat parts * u); auto using measure_abs; [nia|lia| |].
    + intros r j [_ P] _. apply total_bound. intros k K. apply (P k K).
    + intros r s j [_ P] [_ Q] _. unfold apart, part.
      replace (2 * (Z.of_nat parts * u)) with (Z.of_nat parts * (2 * u)) by lia.
      apply total_bound. intros k K. destruct (P k K), (Q k K). lia.
  - replace (errors_squares Replace u (Z.of_nat parts))
      with (Z.of_nat 1 * (2 * (Z.of_nat parts * (u * u)))) by (unfold errors_squares, rows; lia).
    apply replace_holds with (b := Z.of_nat parts * (u * u)); auto using measure_square;
      [nia|lia| |].
    + intros r j [_ P] _. apply total_bound. intros k K. destruct (P k K) as [A _].
      unfold square, part. nia.
    + intros r s j [_ P] [_ Q] _. unfold apart, part.
      assert (L : total parts (fun k => square (error_part r k - error_part s k))
        <= total parts (fun k => u * u + at_label k (3 * (u * u)))).
      { apply total_le. intros k K. destruct (P k K) as [A B], (Q k K) as [C D].
        unfold at_label, square. destruct (Nat.eqb_spec k label); [nia|].
        specialize (B n). specialize (D n). nia. }
      rewrite total_add, total_const in L. assert (M := total_label (3 * (u * u)) ltac:(nia)). nia.
  - replace (Z.of_nat parts * rows Replace) with (Z.of_nat 1 * (2 * Z.of_nat parts))
      by (unfold rows; lia).
    apply replace_holds with (b := Z.of_nat parts * 1); auto using measure_touch; [lia|lia| |].
    + intros r j _ _. apply total_bound. intros k K. apply T.
    + intros r s j _ _ _. replace (2 * Z.of_nat parts) with (Z.of_nat parts * 2) by lia.
      apply total_bound. intros k K.
      assert (X := T (part r j k - part s j k)). lia.
Qed.

Theorem ErrorSums_reached rel : (2 <= groups)%nat ->
  reached errors_ok errors 1 (fun _ => groups) parts rel
    (errors_l1 rel u (Z.of_nat parts)) (errors_squares rel u (Z.of_nat parts)).
Proof.
  intros G. unfold errors.
  assert (O : forall c, (c < 2)%nat -> errors_ok (ErrorRow c (fun _ => u)))
    by (intros c L; split; cbn; [lia|intros; lia]).
  assert (A : forall c j, size error_row part parts Z.abs (ErrorRow c (fun _ => u)) j
    = Z.of_nat parts * u) by (intros; unfold size, part; cbn; rewrite total_const; lia).
  assert (B : forall c j, size error_row part parts square (ErrorRow c (fun _ => u)) j
    = Z.of_nat parts * (u * u)) by (intros; unfold size, part; cbn; rewrite total_const; reflexivity).
  destruct rel; split.
  - replace (errors_l1 AddRemove u (Z.of_nat parts)) with (Z.of_nat 1 * (Z.of_nat parts * u))
      by (unfold errors_l1, rows; lia).
    apply add_attained with (r := ErrorRow 0 (fun _ => u)); auto using measure_abs.
    intros. split; [discriminate|auto].
  - replace (errors_squares AddRemove u (Z.of_nat parts))
      with (Z.of_nat 1 * (Z.of_nat parts * (u * u))) by (unfold errors_squares, rows; lia).
    apply add_attained with (r := ErrorRow 0 (fun _ => u)); auto using measure_square.
    intros. split; [discriminate|auto].
  - replace (errors_l1 Replace u (Z.of_nat parts)) with (Z.of_nat 1 * (2 * (Z.of_nat parts * u)))
      by (unfold errors_l1, rows; lia).
    apply apart_attained with (r := ErrorRow 0 (fun _ => u)) (s := ErrorRow 1 (fun _ => u));
      auto using measure_abs.
    intros. repeat split; auto; discriminate.
  - replace (errors_squares Replace u (Z.of_nat parts))
      with (Z.of_nat 1 * (2 * (Z.of_nat parts * (u * u)))) by (unfold errors_squares, rows; lia).
    apply apart_attained with (r := ErrorRow 0 (fun _ => u)) (s := ErrorRow 1 (fun _ => u));
      auto using measure_square.
    intros. repeat split; auto; discriminate.
Qed.
End ErrorSums.

(** ** Sums of one number *)

Section OneNumber.
Variable ok : Z -> Prop.
Let number (z : Z) : array := fun _ _ _ => z.
Definition one_holds rel d := holds Z ok number 1 (fun _ => 1%nat) 1 Z.abs rel d.
Definition one_attained rel d := attained Z ok number 1 (fun _ => 1%nat) 1 Z.abs rel d.
Lemma one_norm f x : norm f 1 (fun _ => 1%nat) 1 x = f (x 0%nat 0%nat 0%nat).
Proof. unfold norm. cbn [total]. lia. Qed.
Lemma one_reached_add z d : ok z -> Z.abs z = d -> one_attained AddRemove d.
Proof.
  intros O <-. assert (A := attained_add Z ok number 1 (fun _ => 1%nat) 1 Z.abs z O).
  rewrite one_norm in A. exact A.
Qed.
Lemma one_reached_replace y z d : ok y -> ok z -> Z.abs (y - z) = d -> one_attained Replace d.
Proof.
  intros O P <-. assert (A := attained_replace Z ok number 1 (fun _ => 1%nat) 1 Z.abs y z O P).
  rewrite one_norm in A. exact A.
Qed.
End OneNumber.

(** [held_out_rows.QuantileBalance], [quantiles.quantile_balance]; one coordinate, so that the L2
    norm is the same number. *)
Definition balance_ok (b a z : Z) : Prop := z = b \/ z = - a \/ z = 0.
Theorem QuantileBalance_bounded b a rel : 1 <= b -> 1 <= a ->
  one_holds (balance_ok b a) rel (balance rel b a).
Proof.
  intros B A. destruct rel.
  - apply holds_add; auto using measure_abs. intros z O. rewrite one_norm.
    unfold balance_ok, balance in *. lia.
  - apply holds_replace. intros y z O P. rewrite one_norm. unfold balance_ok, balance in *. lia.
Qed.
Theorem QuantileBalance_reached b a rel : 1 <= b -> 1 <= a ->
  one_attained (balance_ok b a) rel (balance rel b a).
Proof.
  intros B A. assert (O : balance_ok b a b) by (left; auto).
  assert (P : balance_ok b a (- a)) by (right; left; auto). destruct rel; unfold balance.
  - destruct (Z.max_spec b a) as [[_ ->]|[_ ->]].
    + apply one_reached_add with (z := - a); auto; lia.
    + apply one_reached_add with (z := b); auto; lia.
  - apply one_reached_replace with (y := b) (z := - a); auto; lia.
Qed.

(** [loss_change.LossChange] *)
Definition loss_change_ok (u z : Z) : Prop := Z.abs z <= u.
Theorem LossChange_bounded u rel : 1 <= u -> one_holds (loss_change_ok u) rel (loss_change rel u).
Proof.
  intros U. destruct rel.
  - apply holds_add; auto using measure_abs. intros z O. rewrite one_norm.
    unfold loss_change_ok, loss_change, rows in *. lia.
  - apply holds_replace. intros y z O P. rewrite one_norm.
    unfold loss_change_ok, loss_change, rows in *. lia.
Qed.
Theorem LossChange_reached u rel : 1 <= u ->
  one_attained (loss_change_ok u) rel (loss_change rel u).
Proof.
  intros U. assert (O : loss_change_ok u u) by (unfold loss_change_ok; lia).
  assert (P : loss_change_ok u (- u)) by (unfold loss_change_ok; lia). destruct rel.
  - apply one_reached_add with (z := u); auto. unfold loss_change, rows. lia.
  - apply one_reached_replace with (y := u) (z := - u); auto. unfold loss_change, rows. lia.
Qed.
