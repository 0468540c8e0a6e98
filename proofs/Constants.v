(** The constants that the package charges, as functions of public numbers.

    [Bounds] proves them; [print_constants.ml] prints them over small cases, and a test compares
    each with what the package returns. *)
From Coq Require Import ZArith List Bool.
From DPBoost Require Import Tables.
Open Scope Z_scope.

(** [dpboost.privacy.exact_arithmetic.root_up] of an integer: the least whose square is not less. *)
Definition root_up (z : Z) : Z := Z.sqrt_up z.

(** [constants.counts]: [q] histograms, [u] units a row. *)
Definition counts_l1 (rel : relation) (u q : Z) : Z := rows rel * q * u.
Definition counts_squares (rel : relation) (u q : Z) : Z := rows rel * q * (u * u).
Definition counts_l2 (rel : relation) (u q : Z) : Z := root_up (counts_squares rel u q).
Definition counts_entries (rel : relation) (q : Z) : Z := rows rel * q.

(** [class_queries.weighted_histograms]: [w] is the largest product of histograms and units. *)
Definition weighted_l1 (rel : relation) (w : Z) : Z := rows rel * w.
Definition weighted_squares (rel : relation) (w : Z) : Z := (rows rel * w) * (rows rel * w).
Definition weighted_entries (rel : relation) (q : Z) : Z := rows rel * q.

(** [dpboost.privacy.sensitivity.bound.ContributionBound] *)
Record contribution := {
  reach_l1 : Z; reach_squares : Z; reach_entries : nat; reach_difference : option Z }.

Definition single (b : Z) : contribution :=
  {| reach_l1 := b; reach_squares := b * b; reach_entries := 1; reach_difference := None |}.

Definition scaled (a : Z) (c : contribution) : contribution :=
  {| reach_l1 := reach_l1 c * a; reach_squares := reach_squares c * a * a;
     reach_entries := reach_entries c;
     reach_difference := option_map (fun d => d * a * a) (reach_difference c) |}.

(** [constants.newton_sums] *)
Definition gradients_apart (c : contribution) : Z :=
  match reach_difference c with Some d => d | None => 4 * reach_squares c end.
Definition hessians_apart (c : contribution) : Z :=
  match reach_difference c with
  | Some d => d
  | None => reach_squares c * (if Nat.eqb (reach_entries c) 1 then 1 else 2)
  end.
Definition newton_l1 (rel : relation) (g h : contribution) : Z :=
  rows rel * (reach_l1 g + reach_l1 h).
Definition newton_squares (rel : relation) (g h : contribution) : Z :=
  let both := reach_squares g + reach_squares h in
  match rel with
  | AddRemove => both
  | Replace => Z.max (gradients_apart g + hessians_apart h) (2 * both)
  end.
Definition newton_l2 (rel : relation) (g h : contribution) : Z := root_up (newton_squares rel g h).
Definition newton_entries (rel : relation) (g h : contribution) : Z :=
  rows rel * (Z.of_nat (reach_entries g) + Z.of_nat (reach_entries h)).

(** [histograms.level_sums]: [p] features, gradients of at most [g] units. *)
Definition level_l1 (rel : relation) (p g : Z) : Z := rows rel * 2 * p * g.
Definition level_entries (rel : relation) (p : Z) : Z := rows rel * 2 * p.

(** [ErrorSums.bounds]: [q] parts of [u] units. *)
Definition errors_l1 (rel : relation) (u q : Z) : Z := q * rows rel * u.
Definition errors_squares (rel : relation) (u q : Z) : Z := q * rows rel * (u * u).
Definition errors_l2 (rel : relation) (u q : Z) : Z := root_up (errors_squares rel u q).

(** [quantiles.quantile_balance]: a row adds [b], takes [a] away, or does nothing. *)
Definition balance (rel : relation) (b a : Z) : Z :=
  match rel with AddRemove => Z.max b a | Replace => b + a end.

(** [LossChange.bounds] *)
Definition loss_change (rel : relation) (u : Z) : Z := u * rows rel.
