(** The bounds of the package's queries, one theorem for each class with a method [bounds].

    A row is what the public maps make of it: numbers of nodes, bins and cells, clipped integers.
    Each theorem says of all such rows that the stated norms hold ([_bounded]) and that some of
    them attain these ([_reached]). *)
From Coq Require Import ZArith List Lia.
From DPBoost Require Import Sums Tables Constants Cells Newton.
Import ListNotations.
Open Scope Z_scope.

Notation Zn := Z.of_nat (only parsing).

(** What is proved of a query that is a set of histograms. *)
Definition counts_hold {Row} (ok : Row -> Prop) v q m u : Prop :=
  bounded ok v q m 1 (fun rel => counts_l1 rel u (Z.of_nat q))
    (fun rel => counts_squares rel u (Z.of_nat q)) (fun rel => counts_entries rel (Z.of_nat q)).
Definition counts_are_reached {Row} (ok : Row -> Prop) v q m u rel : Prop :=
  reached ok v q m 1 rel (counts_l1 rel u (Z.of_nat q)) (counts_squares rel u (Z.of_nat q)).

Ltac full_row := repeat split; try (intros ? ? _ [=]; subst; lia); try (intros; discriminate);
  cbn; try lia; try reflexivity.

(** ** One histogram, one unit a row *)

(** [cell_counts.Magnitudes]: a row is in the cell of its magnitude, or missing. *)
Section Magnitudes.
Variables (cells : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : option nat) (_ : nat) := r.
Definition magnitudes_ok := counted (option nat) cell (fun _ => units) 1 (fun _ => cells) units.
Definition magnitudes := counts_vector (option nat) cell (fun _ => units).
Theorem Magnitudes_bounded : counts_hold magnitudes_ok magnitudes 1 (fun _ => cells) units.
Proof. apply counts_bounded; auto. Qed.
Theorem Magnitudes_reached rel : (2 <= cells)%nat ->
  counts_are_reached magnitudes_ok magnitudes 1 (fun _ => cells) units rel.
Proof.
  intros C. destruct rel.
  - apply counts_reached_add with (r := Some 0%nat); auto; try full_row.
  - apply counts_reached_replace with (r := Some 0%nat) (s := Some 1%nat); auto;
    try full_row; try discriminate.
Qed.
End Magnitudes.

(** [cell_counts.RangeCounts]: a label is in one of the cells, whatever it is. *)
Section RangeCounts.
Variables (cells : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : nat) (_ : nat) := Some r.
Definition range_ok := counted nat cell (fun _ => units) 1 (fun _ => cells) units.
Definition range_counts := counts_vector nat cell (fun _ => units).
Theorem RangeCounts_bounded : counts_hold range_ok range_counts 1 (fun _ => cells) units.
Proof. apply counts_bounded; auto. Qed.
Theorem RangeCounts_reached_add : (1 <= cells)%nat ->
  counts_are_reached range_ok range_counts 1 (fun _ => cells) units AddRemove.
Proof. intros C. apply counts_reached_add with (r := 0%nat); auto; try full_row. Qed.
Theorem RangeCounts_reached_replace : (2 <= cells)%nat ->
  counts_are_reached range_ok range_counts 1 (fun _ => cells) units Replace.
Proof.
  intros C. apply counts_reached_replace with (r := 0%nat) (s := 1%nat); auto; try full_row; try discriminate.
Qed.
End RangeCounts.

(** [evaluation_queries.ErrorCells] *)
Section ErrorCells.
Variables (cells : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : nat) (_ : nat) := Some r.
Definition error_cells_ok := counted nat cell (fun _ => units) 1 (fun _ => cells) units.
Definition error_cells := counts_vector nat cell (fun _ => units).
Theorem ErrorCells_bounded : counts_hold error_cells_ok error_cells 1 (fun _ => cells) units.
Proof. apply counts_bounded; auto. Qed.
Theorem ErrorCells_reached rel : (2 <= cells)%nat ->
  counts_are_reached error_cells_ok error_cells 1 (fun _ => cells) units rel.
Proof.
  intros C. destruct rel.
  - apply counts_reached_add with (r := 0%nat); auto; try full_row.
  - apply counts_reached_replace with (r := 0%nat) (s := 1%nat); auto; try full_row; try discriminate.
Qed.
End ErrorCells.

(** [start_queries.PresentRows]: under replace a row can only come or go, so that 2 is charged
    where 1 would do; under add/remove the bound is attained. *)
Section PresentRows.
Let cell (present : bool) (_ : nat) := if present then Some 0%nat else None.
Definition present_ok := counted bool cell (fun _ => 1) 1 (fun _ => 1%nat) 1.
Definition present_rows := counts_vector bool cell (fun _ => 1).
Theorem PresentRows_bounded : counts_hold present_ok present_rows 1 (fun _ => 1%nat) 1.
Proof. apply counts_bounded; lia. Qed.
Theorem PresentRows_reached_add :
  counts_are_reached present_ok present_rows 1 (fun _ => 1%nat) 1 AddRemove.
Proof. apply counts_reached_add with (r := true); try full_row. Qed.
End PresentRows.

(** ** One histogram, with weights of at most [units] *)

(** [start_queries.RowCount] with the rows that take no part in a cell of their own. *)
Record weighted_row := WeightedRow { takes_part : bool; row_weight : Z }.

Section RowCount.
Variables (others : bool) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : weighted_row) (_ : nat) :=
  if takes_part r then Some 0%nat else if others then Some 1%nat else None.
Let weight (r : weighted_row) := if takes_part r then row_weight r else units.
Let cells (_ : nat) := if others then 2%nat else 1%nat.
Definition row_count_ok := counted weighted_row cell weight 1 cells units.
Definition row_count := counts_vector weighted_row cell weight.
Theorem RowCount_bounded : counts_hold row_count_ok row_count 1 cells units.
Proof. apply counts_bounded; auto. Qed.
Theorem RowCount_reached_add : counts_are_reached row_count_ok row_count 1 cells units AddRemove.
Proof.
  apply counts_reached_add with (r := WeightedRow true units); auto.
  split; [split; [intros ? ? ? [=]; subst; unfold cells; destruct others; lia|cbn; lia]|
    split; [reflexivity|discriminate]].
Qed.
Theorem RowCount_reached_replace : others = true ->
  counts_are_reached row_count_ok row_count 1 cells units Replace.
Proof.
  intros O. apply counts_reached_replace with (r := WeightedRow true units)
    (s := WeightedRow false units); auto; unfold full, counted, inside, cell, weight, cells; cbn;
    rewrite O; repeat split; try lia; try discriminate; intros ? ? _ [=]; lia.
Qed.
End RowCount.

(** [start_queries.ClassSizes]: a class, or the cell of those of no class. *)
Record class_row := ClassRow { row_class : option nat; class_weight : Z }.

Section ClassSizes.
Variables (classes : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : class_row) (_ : nat) :=
  match row_class r with Some c => Some c | None => Some classes end.
Let weight (r : class_row) := match row_class r with Some _ => class_weight r | None => units end.
Definition class_sizes_ok := counted class_row cell weight 1 (fun _ => S classes) units.
Definition class_sizes := counts_vector class_row cell weight.
Theorem ClassSizes_bounded : counts_hold class_sizes_ok class_sizes 1 (fun _ => S classes) units.
Proof. apply counts_bounded; auto. Qed.
Theorem ClassSizes_reached rel : (1 <= classes)%nat ->
  counts_are_reached class_sizes_ok class_sizes 1 (fun _ => S classes) units rel.
Proof.
  intros C. destruct rel.
  - apply counts_reached_add with (r := ClassRow (Some 0%nat) units); auto; try full_row.
  - apply counts_reached_replace with (r := ClassRow (Some 0%nat) units)
      (s := ClassRow None units); auto; try full_row.
    all: unfold cell; cbn; intros; try (intros [=]); lia.
Qed.
End ClassSizes.

(** Rows of single trees: a node of the query or none, a bin of every feature, a class, a weight. *)
Record tree_row := TreeRow {
  row_node : option nat; row_bin : nat -> nat; tree_class : nat; tree_weight : Z }.

(** [class_queries.NodeSizes] *)
Section NodeSizes.
Variables (nodes : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : tree_row) (_ : nat) := row_node r.
Definition node_sizes_ok := counted tree_row cell tree_weight 1 (fun _ => nodes) units.
Definition node_sizes := counts_vector tree_row cell tree_weight.
Theorem NodeSizes_bounded : counts_hold node_sizes_ok node_sizes 1 (fun _ => nodes) units.
Proof. apply counts_bounded; auto. Qed.
Theorem NodeSizes_reached rel : (2 <= nodes)%nat ->
  counts_are_reached node_sizes_ok node_sizes 1 (fun _ => nodes) units rel.
Proof.
  intros N. destruct rel.
  - apply counts_reached_add with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units); auto; try full_row.
  - apply counts_reached_replace with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units)
      (s := TreeRow (Some 1%nat) (fun _ => 0%nat) 0 units); auto; try full_row; try discriminate.
Qed.
End NodeSizes.

(** [class_queries.ClassCounts]: entry (node, class). *)
Section ClassCounts.
Variables (nodes classes : nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : tree_row) (_ : nat) :=
  match row_node r with Some k => Some (k * classes + tree_class r)%nat | None => None end.
Definition class_counts_ok (r : tree_row) := counted tree_row cell tree_weight 1
  (fun _ => (nodes * classes)%nat) units r.
Definition class_counts := counts_vector tree_row cell tree_weight.
(** Rows whose node and class are there are among them. *)
Theorem ClassCounts_rows r : (tree_class r < classes)%nat ->
  (forall k, row_node r = Some k -> (k < nodes)%nat) -> 0 <= tree_weight r <= units ->
  class_counts_ok r.
Proof.
  intros C N W. split; auto. intros j d _. unfold cell. destruct (row_node r); intros [=]; subst.
  assert (n < nodes)%nat by auto. nia.
Qed.
Theorem ClassCounts_bounded :
  counts_hold class_counts_ok class_counts 1 (fun _ => (nodes * classes)%nat) units.
Proof. apply counts_bounded; auto. Qed.
Theorem ClassCounts_reached rel : (1 <= nodes)%nat -> (2 <= classes)%nat ->
  counts_are_reached class_counts_ok class_counts 1 (fun _ => (nodes * classes)%nat) units rel.
Proof.
  intros N C. destruct rel.
  - apply counts_reached_add with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units); auto; try (full_row; nia).
  - apply counts_reached_replace with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units)
      (s := TreeRow (Some 0%nat) (fun _ => 0%nat) 1 units); auto; try (full_row; nia); try discriminate.
Qed.
End ClassCounts.

(** ** Several histograms of the same rows *)

(** [class_queries.ClassHistograms] and [class_queries.FeatureCells]: of each node as many
    features, which may differ by node; histogram [j] is that of the [j]-th one of the row's node,
    with entries (node, bin, class). *)
Section ClassHistograms.
Variables (nodes bins classes offered : nat) (feature : nat -> nat -> nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : tree_row) (j : nat) := match row_node r with
  | Some k => Some ((k * bins + row_bin r (feature k j)) * classes + tree_class r)%nat
  | None => None end.
Let cells (_ : nat) := (nodes * bins * classes)%nat.
Definition class_histograms_ok := counted tree_row cell tree_weight offered cells units.
Definition class_histograms := counts_vector tree_row cell tree_weight.
Theorem ClassHistograms_rows r : (tree_class r < classes)%nat ->
  (forall f, (row_bin r f < bins)%nat) ->
  (forall k, row_node r = Some k -> (k < nodes)%nat) -> 0 <= tree_weight r <= units ->
  class_histograms_ok r.
Proof.
  intros C B N W. split; auto. intros j d _. unfold cell, cells. destruct (row_node r); intros [=].
  subst. assert (n < nodes)%nat by auto. specialize (B (feature n j)).
  assert (n * bins + row_bin r (feature n j) < nodes * bins)%nat by nia. nia.
Qed.
Theorem ClassHistograms_bounded :
  counts_hold class_histograms_ok class_histograms offered cells units.
Proof. apply counts_bounded; auto. Qed.
Theorem ClassHistograms_reached rel : (1 <= nodes)%nat -> (2 <= bins)%nat -> (1 <= classes)%nat ->
  counts_are_reached class_histograms_ok class_histograms offered cells units rel.
Proof.
  intros N B C.
  assert (F : forall b, (b < 2)%nat ->
    full tree_row cell tree_weight offered cells units
      (TreeRow (Some 0%nat) (fun _ => b) 0 units)).
  { intros b L. split; [apply ClassHistograms_rows; cbn; try lia; intros ? [=]; lia|].
    split; [reflexivity|discriminate]. }
  destruct rel.
  - apply counts_reached_add with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units); auto.
  - apply counts_reached_replace with (r := TreeRow (Some 0%nat) (fun _ => 0%nat) 0 units)
      (s := TreeRow (Some 0%nat) (fun _ => 1%nat) 0 units); auto.
    intros j _ [=]. nia.
Qed.
End ClassHistograms.

(** [class_queries.FeatureCells] counts rows, each one unit. *)
Theorem FeatureCells_bounded nodes bins classes asked feature :
  counts_hold (class_histograms_ok nodes bins classes asked feature 1)
    (class_histograms bins classes feature) asked (fun _ => (nodes * bins * classes)%nat) 1.
Proof. apply ClassHistograms_bounded. lia. Qed.
Theorem FeatureCells_reached nodes bins classes asked feature rel :
  (1 <= nodes)%nat -> (2 <= bins)%nat -> (1 <= classes)%nat ->
  counts_are_reached (class_histograms_ok nodes bins classes asked feature 1)
    (class_histograms bins classes feature) asked (fun _ => (nodes * bins * classes)%nat) 1 rel.
Proof. apply ClassHistograms_reached. lia. Qed.

(** Rows with a cell in each of several histograms: the cells of a score for each output, of a bin
    for each feature. *)
Section Several.
Variables (q : nat) (cells : nat -> nat) (units : Z).
Hypothesis positive : 0 < units.
Let cell (r : nat -> option nat) (j : nat) := r j.
Definition several_ok := counted (nat -> option nat) cell (fun _ => units) q cells units.
Definition several := counts_vector (nat -> option nat) cell (fun _ => units).
Lemma several_bounded : counts_hold several_ok several q cells units.
Proof. apply counts_bounded; auto. Qed.
Lemma several_reached rel : (forall j, (j < q)%nat -> (2 <= cells j)%nat) ->
  counts_are_reached several_ok several q cells units rel.
Proof.
  intros C.
  assert (F : forall b, (b < 2)%nat ->
    full (nat -> option nat) cell (fun _ => units) q cells units (fun _ => Some b)).
  { intros b L. split; [split; [intros j d J [=]; subst; specialize (C j J); lia|lia]|].
    split; [reflexivity|discriminate]. }
  destruct rel.
  - apply counts_reached_add with (r := fun _ => Some 0%nat); auto.
  - apply counts_reached_replace with (r := fun _ => Some 0%nat) (s := fun _ => Some 1%nat); auto.
    discriminate.
Qed.
End Several.

(** [evaluation_queries.ScoreCells]: equal cells of a range, for each output. *)
Theorem ScoreCells_bounded outputs cells units : 0 < units ->
  counts_hold (several_ok outputs (fun _ => cells) units) (several units) outputs (fun _ => cells) units.
Proof. apply several_bounded. Qed.
Theorem ScoreCells_reached outputs cells units rel : 0 < units -> (2 <= cells)%nat ->
  counts_are_reached (several_ok outputs (fun _ => cells) units) (several units) outputs
    (fun _ => cells) units rel.
Proof. intros. apply several_reached; auto. Qed.

(** [evaluation_queries.BinCounts]: the bins of each feature. *)
Theorem BinCounts_bounded features sizes units : 0 < units ->
  counts_hold (several_ok features sizes units) (several units) features sizes units.
Proof. apply several_bounded. Qed.
Theorem BinCounts_reached features sizes units rel : 0 < units ->
  (forall j, (j < features)%nat -> (2 <= sizes j)%nat) ->
  counts_are_reached (several_ok features sizes units) (several units) features sizes units rel.
Proof. intros. apply several_reached; auto. Qed.

(** [private_bins.FineCounts]: fine cells of each feature; missing values are in none. *)
Theorem FineCounts_bounded features cells units : 0 < units ->
  counts_hold (several_ok features (fun _ => cells) units) (several units) features (fun _ => cells) units.
Proof. apply several_bounded. Qed.
Theorem FineCounts_reached features cells units rel : 0 < units -> (2 <= cells)%nat ->
  counts_are_reached (several_ok features (fun _ => cells) units) (several units) features
    (fun _ => cells) units rel.
Proof. intros. apply several_reached; auto. Qed.

(** [evaluation_queries.ScoreLabelCounts]: entries (group, bin, own label or not) of each output;
    for more than two classes a last histogram with entries (group, label, hit or not). *)
Record scored_row := ScoredRow {
  score_group : nat; score_bin : nat -> nat; score_label : nat; score_hit : bool }.

Section ScoreLabelCounts.
Variables (outputs groups classes : nat) (bins : nat -> nat) (units : Z).
Hypothesis positive : 0 < units.
Let flag (b : bool) : nat := if b then 1%nat else 0%nat.
Let own (r : scored_row) (j : nat) : bool :=
  Nat.eqb (score_label r) (if Nat.eqb outputs 1 then 1 else j).
Let cell (r : scored_row) (j : nat) :=
  if Nat.ltb j outputs
  then Some ((score_group r * bins j + score_bin r j) * 2 + flag (own r j))%nat
  else Some ((score_group r * classes + score_label r) * 2 + flag (score_hit r))%nat.
Let cells (j : nat) :=
  (if Nat.ltb j outputs then groups * bins j * 2 else groups * classes * 2)%nat.
Let histograms := (if Nat.ltb 2 classes then S outputs else outputs).
Definition score_labels_ok := counted scored_row cell (fun _ => units) histograms cells units.
Definition score_labels := counts_vector scored_row cell (fun _ => units).
Theorem ScoreLabelCounts_rows r : (score_group r < groups)%nat ->
  (forall j, (score_bin r j < bins j)%nat) -> (score_label r < classes)%nat -> score_labels_ok r.
Proof.
  intros G B L. split; [|lia]. intros j d _. unfold cell, cells.
  assert (F : forall b, (flag b < 2)%nat) by (intros []; cbn; lia).
  destruct (Nat.ltb j outputs); intros [=]; subst.
  - specialize (B j). specialize (F (own r j)).
    assert (score_group r * bins j + score_bin r j < groups * bins j)%nat by nia. lia.
  - specialize (F (score_hit r)).
    assert (score_group r * classes + score_label r < groups * classes)%nat by nia. lia.
Qed.
Theorem ScoreLabelCounts_bounded :
  counts_hold score_labels_ok score_labels histograms cells units.
Proof. apply counts_bounded; auto. Qed.
Theorem ScoreLabelCounts_reached rel : (1 <= groups)%nat -> (1 <= classes)%nat ->
  (forall j, (2 <= bins j)%nat) ->
  counts_are_reached score_labels_ok score_labels histograms cells units rel.
Proof.
  intros G C B.
  assert (F : forall b h, (b < 2)%nat ->
    full scored_row cell (fun _ => units) histograms cells units (ScoredRow 0 (fun _ => b) 0 h)).
  { intros b h L. split.
    - apply ScoreLabelCounts_rows; cbn; try lia. intros j. specialize (B j). lia.
    - split; [reflexivity|]. intros j _. unfold cell. destruct (Nat.ltb j outputs); discriminate. }
  destruct rel.
  - apply counts_reached_add with (r := ScoredRow 0 (fun _ => 0%nat) 0 true); auto.
  - apply counts_reached_replace with (r := ScoredRow 0 (fun _ => 0%nat) 0 true)
      (s := ScoredRow 0 (fun _ => 1%nat) 0 false); auto.
    intros j _. unfold cell, own. destruct (Nat.ltb j outputs); cbn; intros [=]. lia.
Qed.
End ScoreLabelCounts.

(** ** Histograms that share cells: [class_queries.GroupedCells], [weighted_histograms]

    A row of node [k] adds [unit k] to the group of its cell in each of [number k] features, which
    may be the same group. *)
Record grouped_row := GroupedRow { grouped_node : option nat; row_group : nat -> nat }.

Section GroupedCells.
Variables (nodes groups : nat) (number : nat -> nat) (unit : nat -> Z).
Variables (w : Z) (most : nat).
Hypothesis positive : forall k, (k < nodes)%nat -> 0 < unit k.
Hypothesis largest : forall k, (k < nodes)%nat -> Z.of_nat (number k) * unit k <= w.
Hypothesis largest_number : forall k, (k < nodes)%nat -> (number k <= most)%nat.

(** One cell, the node; one part for each group. *)
Let cell (r : grouped_row) (_ : nat) := grouped_node r.
Let part (r : grouped_row) (_ c : nat) : Z := match grouped_node r with
  | Some k => unit k * total (number k) (fun f => if Nat.eqb (row_group r f) c then 1 else 0)
  | None => 0 end.
Definition grouped_ok (r : grouped_row) := forall k, grouped_node r = Some k -> (k < nodes)%nat.
Definition grouped : grouped_row -> array := vector grouped_row cell part.

Let hits (r : grouped_row) k c := total (number k) (fun f => if Nat.eqb (row_group r f) c then 1 else 0).

Let hits_positive r k c : 0 <= hits r k c.
Proof. apply total_nonneg. intros. destruct (Nat.eqb _ _); lia. Qed.

Let hits_total r k : total groups (hits r k) <= Z.of_nat (number k).
Proof.
  unfold hits. induction (number k) as [|p IH].
  - cbn [total]. rewrite total_zero; auto; lia.
  - cbn [total]. rewrite total_add.
    assert (total groups (fun c => if Nat.eqb (row_group r p) c then 1 else 0) <= 1).
    { destruct (Nat.lt_ge_cases (row_group r p) groups).
      - rewrite (total_one groups _ (row_group r p)); auto.
        + rewrite Nat.eqb_refl. lia.
        + intros i _ N. destruct (Nat.eqb_spec (row_group r p) i); congruence.
      - rewrite total_zero; [lia|]. intros i I. destruct (Nat.eqb_spec (row_group r p) i); lia. }
    lia.
Qed.

Let squares_total n x b : (forall c, 0 <= x c) -> total n x <= b ->
  total n (fun c => square (x c)) <= b * b.
Proof.
  intros P L. assert (0 <= total n x) by (apply total_nonneg; auto).
  assert (total n (fun c => square (x c)) <= total n x * total n x).
  { clear L. induction n; [cbn; lia|]. cbn [total].
    assert (0 <= total n x) by (apply total_nonneg; auto). specialize (P n). unfold square in *.
    assert (total n (fun c => x c * x c) <= total n x * total n x) by (apply IHn; lia). nia. }
  nia.
Qed.

Let touched n x : (forall c, 0 <= x c) -> total n (fun c => touch (x c)) <= total n x.
Proof.
  intros P. apply total_le. intros. specialize (P k). unfold touch.
  destruct (Z.eqb_spec (x k) 0); lia.
Qed.

Let inside_ok : forall r, grouped_ok r -> inside grouped_row cell 1 (fun _ => nodes) r.
Proof. intros r O j d _ E. auto. Qed.

Let sizes r : grouped_ok r -> 0 <= w ->
  size grouped_row part groups Z.abs r 0 <= w
  /\ size grouped_row part groups square r 0 <= w * w
  /\ size grouped_row part groups touch r 0 <= Z.of_nat most.
Proof.
  intros O W. unfold size, part. destruct (grouped_node r) as [k|] eqn:E.
  - assert (K : (k < nodes)%nat) by auto. assert (U := positive k K). assert (L := largest k K).
    assert (H := hits_total r k). assert (Q := hits_positive r k). assert (M := largest_number k K).
    fold (hits r k) in *.
    assert (S : total groups (fun c => unit k * hits r k c) <= w)
      by (rewrite total_scale; nia).
    assert (P : forall c, 0 <= unit k * hits r k c) by (intros c; specialize (Q c); nia).
    repeat split.
    + rewrite (total_ext _ _ (fun c => unit k * hits r k c)); auto.
      intros c _. specialize (P c). unfold hits in *. lia.
    + apply (squares_total groups (fun c => unit k * hits r k c) w P S).
    + rewrite (total_ext _ _ (fun c => touch (hits r k c))).
      * assert (T := touched groups (hits r k) Q). lia.
      * intros c _. unfold touch. fold (hits r k c).
        destruct (Z.eqb_spec (unit k * hits r k c) 0), (Z.eqb_spec (hits r k c) 0); auto; nia.
  - rewrite !total_zero; auto; try nia.
Qed.

Let aparts r s : grouped_ok r -> grouped_ok s -> grouped_node r = grouped_node s -> 0 <= w ->
  apart grouped_row part groups Z.abs r s 0 <= 2 * w
  /\ apart grouped_row part groups square r s 0 <= 4 * (w * w)
  /\ apart grouped_row part groups touch r s 0 <= 2 * Z.of_nat most.
Proof.
  intros R S _ W. destruct (sizes r R W) as (A & B & C), (sizes s S W) as (D & E & F).
  unfold apart, size in *. repeat split.
  - assert (total groups (fun k => Z.abs (part r 0 k - part s 0 k))
      <= total groups (fun k => Z.abs (part r 0 k) + Z.abs (part s 0 k)))
      by (apply total_le; lia).
    rewrite total_add in H. lia.
  - assert (total groups (fun k => square (part r 0 k - part s 0 k))
      <= total groups (fun k => 2 * square (part r 0 k) + 2 * square (part s 0 k))).
    { apply total_le. intros. unfold square.
      assert (0 <= (part r 0 k + part s 0 k) * (part r 0 k + part s 0 k)) by apply Z.square_nonneg.
      lia. }
    rewrite total_add, !total_scale in H. lia.
  - assert (total groups (fun k => touch (part r 0 k - part s 0 k))
      <= total groups (fun k => touch (part r 0 k) + touch (part s 0 k))).
    { apply total_le. intros. unfold touch.
      repeat match goal with |- context [?x =? 0] => destruct (Z.eqb_spec x 0) end; lia. }
    rewrite total_add in H. lia.
Qed.

Theorem GroupedCells_bounded : 0 <= w ->
  bounded grouped_ok grouped 1 (fun _ => nodes) groups
    (fun rel => weighted_l1 rel w) (fun rel => weighted_squares rel w)
    (fun rel => weighted_entries rel (Z.of_nat most)).
Proof.
  intros W. unfold grouped. assert (J : forall j, (j < 1)%nat -> j = 0%nat) by lia.
  intros [|]; split; [|split| |split].
  - replace (weighted_l1 AddRemove w) with (Z.of_nat 1 * w) by (unfold weighted_l1, rows; lia).
    apply add_holds; auto using measure_abs. intros r j O L. rewrite (J j L). now apply sizes.
  - replace (weighted_squares AddRemove w) with (Z.of_nat 1 * (w * w))
      by (unfold weighted_squares, rows; lia).
    apply add_holds; auto using measure_square; [nia|].
    intros r j O L. rewrite (J j L). now apply sizes.
  - replace (weighted_entries AddRemove (Z.of_nat most)) with (Z.of_nat 1 * Z.of_nat most)
      by (unfold weighted_entries, rows; lia).
    apply add_holds; auto using measure_touch; [lia|].
    intros r j O L. rewrite (J j L). now apply sizes.
  - replace (weighted_l1 Replace w) with (Z.of_nat 1 * (2 * w)) by (unfold weighted_l1, rows; lia).
    apply holds_replace. intros r s R S.
    rewrite norm_difference by auto using measure_abs. apply total_bound. intros j L.
    rewrite (J j L). destruct (sizes r R W) as (? & _), (sizes s S W) as (? & _). unfold cell.
    destruct (grouped_node r) as [a|] eqn:A, (grouped_node s) as [b|] eqn:B; try lia.
    destruct (Nat.eqb_spec a b); [|lia]. subst. apply aparts; auto. congruence.
  - replace (weighted_squares Replace w) with (Z.of_nat 1 * (4 * (w * w)))
      by (unfold weighted_squares, rows; lia).
    apply holds_replace. intros r s R S.
    rewrite norm_difference by auto using measure_square. apply total_bound. intros j L.
    rewrite (J j L). destruct (sizes r R W) as (_ & ? & _), (sizes s S W) as (_ & ? & _). unfold cell.
    destruct (grouped_node r) as [a|] eqn:A, (grouped_node s) as [b|] eqn:B; try nia.
    destruct (Nat.eqb_spec a b); [|nia]. subst. apply aparts; auto. congruence.
  - replace (weighted_entries Replace (Z.of_nat most)) with (Z.of_nat 1 * (2 * Z.of_nat most))
      by (unfold weighted_entries, rows; lia).
    apply holds_replace. intros r s R S.
    rewrite norm_difference by auto using measure_touch. apply total_bound. intros j L.
    rewrite (J j L). destruct (sizes r R W) as (_ & _ & ?), (sizes s S W) as (_ & _ & ?). unfold cell.
    destruct (grouped_node r) as [a|] eqn:A, (grouped_node s) as [b|] eqn:B; try lia.
    destruct (Nat.eqb_spec a b); [|lia]. subst. apply aparts; auto. congruence.
Qed.

(** Attained under add/remove where all features of a largest node share one group, in either norm;
    under replace in L1. The L2 norm of a replaced row is at most [w] times the root of 2, since
    counts do not change sign: what is charged is up to that factor too much. *)
Theorem GroupedCells_reached_add k : 0 <= w -> (k < nodes)%nat -> (1 <= groups)%nat ->
  Z.of_nat (number k) * unit k = w ->
  reached grouped_ok grouped 1 (fun _ => nodes) groups AddRemove
    (weighted_l1 AddRemove w) (weighted_squares AddRemove w).
Proof.
  intros W K G E. unfold grouped.
  assert (O : grouped_ok (GroupedRow (Some k) (fun _ => 0%nat))) by (intros ? [=]; subst; auto).
  assert (T : forall f, f 0 = 0 ->
    size grouped_row part groups f (GroupedRow (Some k) (fun _ => 0%nat)) 0 = f w).
  { intros f F. unfold size, part. cbn [grouped_node row_group].
    rewrite (total_one groups _ 0%nat); [|lia|].
    - cbn [Nat.eqb]. rewrite total_const. f_equal. lia.
    - intros i _ N. destruct (Nat.eqb_spec 0 i); [lia|]. rewrite total_const, Z.mul_0_r, Z.mul_0_r.
      auto. }
  split.
  - replace (weighted_l1 AddRemove w) with (Z.of_nat 1 * w) by (unfold weighted_l1, rows; lia).
    apply add_attained with (r := GroupedRow (Some k) (fun _ => 0%nat)); auto using measure_abs.
    intros j J. split; [discriminate|]. replace j with 0%nat by lia. rewrite T by auto. lia.
  - replace (weighted_squares AddRemove w) with (Z.of_nat 1 * (w * w))
      by (unfold weighted_squares, rows; lia).
    apply add_attained with (r := GroupedRow (Some k) (fun _ => 0%nat)); auto using measure_square.
    intros j J. split; [discriminate|]. replace j with 0%nat by lia. now rewrite T.
Qed.

Theorem GroupedCells_reached_replace_l1 k : 0 <= w -> (k < nodes)%nat -> (2 <= groups)%nat ->
  Z.of_nat (number k) * unit k = w ->
  attained grouped_row grouped_ok grouped 1 (fun _ => nodes) groups Z.abs Replace
    (weighted_l1 Replace w).
Proof.
  intros W K G E. unfold grouped.
  assert (O : forall i, grouped_ok (GroupedRow (Some k) (fun _ => i)))
    by (intros i ? [=]; subst; auto).
  replace (weighted_l1 Replace w) with (Z.of_nat 1 * (2 * w)) by (unfold weighted_l1, rows; lia).
  apply same_attained with (r := GroupedRow (Some k) (fun _ => 0%nat))
    (s := GroupedRow (Some k) (fun _ => 1%nat)); auto using measure_abs.
  intros j J. split; [discriminate|]. split; [reflexivity|].
  unfold apart, part. cbn [grouped_node row_group].
  rewrite (total_two groups _ 0%nat 1%nat); [| lia | lia | lia |].
  - cbn [Nat.eqb]. rewrite !total_const. lia.
  - intros i _ N M. destruct (Nat.eqb_spec 0 i), (Nat.eqb_spec 1 i); try lia;
    rewrite total_const; lia.
Qed.
End GroupedCells.
