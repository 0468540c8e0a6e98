(** The samplers and the constants as an OCaml program, for [reference.ml].

    Integers stay those of Coq: no library of numbers has to be trusted. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic.
From DPBoost Require Import Tables Constants Programs Samplers.

Extraction Language OCaml.
Extraction "extracted.ml"
  counts_l1 counts_squares counts_l2 counts_entries
  weighted_l1 weighted_squares weighted_entries
  newton_l1 newton_squares newton_l2 newton_entries scaled single
  level_l1 level_entries errors_l1 errors_squares errors_l2 balance loss_change root_up
  draw_below bernoulli_exp draw_magnitude draw_laplace draw_gaussian.
