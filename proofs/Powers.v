(** Exponentials, logarithms and real powers, without the law of excluded middle.

    Those of the standard library rest on it by way of the mean value theorem. *)
From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Definition part (x : R) (n : nat) : R := sum_f_R0 (fun i => / INR (fact i) * x ^ i) n.

Lemma part_limit x : Un_cv (part x) (exp x).
Proof. unfold part, exp. destruct (exist_exp x) as [l H]. exact H. Qed.

Lemma inverse_fact n : 0 < / INR (fact n).
Proof. apply Rinv_0_lt_compat, INR_fact_lt_0. Qed.

Lemma inverse_fact_le n : / INR (fact n) <= 1.
Proof.
  rewrite <- Rinv_1. apply Rinv_le_contravar; [lra|]. change 1 with (INR 1). apply le_INR.
  apply lt_O_fact.
Qed.

Lemma above_positive x : 0 <= x -> 1 + x <= exp x.
Proof.
  intros X. replace (1 + x) with (part x 1) by (unfold part; simpl; field).
  apply (growing_ineq (part x)); [|apply part_limit].
  intros n. unfold part. cbn [sum_f_R0].
  assert (0 <= / INR (fact (S n)) * x ^ S n)
    by (apply Rmult_le_pos; [left; apply inverse_fact|now apply pow_le]). lra.
Qed.

Lemma part_below y n : 0 <= y <= 1 -> part y n * (1 - y) <= 1 - y ^ S n.
Proof.
  intros Y. induction n as [|n IH]; [unfold part; cbn [sum_f_R0 fact pow INR]; rewrite Rinv_1; nra|].
  unfold part in *. cbn [sum_f_R0]. set (s := sum_f_R0 _ n) in *.
  assert (P : 0 <= y ^ S n) by now apply pow_le.
  assert (A := inverse_fact_le (S n)). assert (B := inverse_fact (S n)).
  set (c := / INR (fact (S n))) in *. change (y ^ S (S n)) with (y * y ^ S n).
  set (z := y ^ S n) in *.
  assert (c * (z * (1 - y)) <= 1 * (z * (1 - y)))
    by (apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra). lra.
Qed.

Lemma below_one y : 0 <= y <= 1 -> exp y * (1 - y) <= 1.
Proof.
  intros Y. destruct (Rle_lt_dec (exp y * (1 - y)) 1) as [|N]; auto. exfalso.
  assert (C : Un_cv (fun n => part y n * (1 - y)) (exp y * (1 - y))).
  { apply CV_mult; [apply part_limit|]. intros e E. exists 0%nat. intros. unfold R_dist.
    rewrite Rminus_diag_eq, Rabs_R0; auto. }
  destruct (C (exp y * (1 - y) - 1)) as [n H]; [lra|]. specialize (H n (le_n n)).
  unfold R_dist in H. apply Rabs_def2 in H. assert (B := part_below y n Y).
  assert (0 <= y ^ S n) by (apply pow_le; lra). lra.
Qed.

Theorem exp_above x : 1 + x <= exp x.
Proof.
  destruct (Rle_lt_dec 0 x) as [P|N]; [now apply above_positive|].
  destruct (Rle_lt_dec (1 + x) 0) as [M|M]; [assert (E := exp_pos x); lra|].
  assert (B := below_one (- x) ltac:(lra)).
  assert (V : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (E := exp_pos x). assert (F := exp_pos (- x)).
  apply (Rmult_le_reg_l (exp (- x))); auto. lra.
Qed.

Theorem exp_less x y : x < y -> exp x < exp y.
Proof.
  intros L. replace y with (x + (y - x)) by ring. rewrite exp_plus.
  assert (A := exp_above (y - x)). assert (E := exp_pos x). nra.
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [L| ->]; [left; now apply exp_less|lra]. Qed.

Lemma exp_same x y : exp x = exp y -> x = y.
Proof.
  intros E. destruct (Rtotal_order x y) as [L|[L|L]]; auto; apply exp_less in L; lra.
Qed.

Lemma log_exists x : 0 < x -> { y | exp y = x }.
Proof.
  intros X. assert (I := Rinv_0_lt_compat x X).
  destruct (IVT (fun z => exp z - x) (- (/ x + 1)) x) as (z & _ & Z).
  - apply continuity_minus; [apply derivable_continuous, derivable_exp|].
    apply continuity_const. intros ? ?. reflexivity.
  - lra.
  - assert (A := exp_above (/ x + 1)).
    assert (V : exp (/ x + 1) * exp (- (/ x + 1)) = 1)
      by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (P := exp_pos (- (/ x + 1))). assert (K : x * / x = 1) by (apply Rinv_r; lra).
    assert (L : (/ x + 2) * exp (- (/ x + 1)) <= 1).
    { apply Rle_trans with (exp (/ x + 1) * exp (- (/ x + 1))); [|lra].
      apply Rmult_le_compat_r; lra. }
    assert (x * ((/ x + 2) * exp (- (/ x + 1))) <= x * 1) by (apply Rmult_le_compat_l; lra).
    nra.
  - assert (A := exp_above x). lra.
  - exists z. lra.
Qed.

Definition log (x : R) : R :=
  match Rlt_dec 0 x with left p => proj1_sig (log_exists x p) | right _ => 0 end.

Lemma exp_log x : 0 < x -> exp (log x) = x.
Proof.
  intros X. unfold log. destruct (Rlt_dec 0 x); [|contradiction].
  destruct (log_exists x r) as [y Y]. exact Y.
Qed.

Lemma log_exp x : log (exp x) = x.
Proof. apply exp_same, exp_log, exp_pos. Qed.

Lemma log_one : log 1 = 0.
Proof. rewrite <- exp_0. apply log_exp. Qed.

Lemma log_mult x y : 0 < x -> 0 < y -> log (x * y) = log x + log y.
Proof.
  intros X Y. apply exp_same. rewrite exp_plus, !exp_log; auto. now apply Rmult_lt_0_compat.
Qed.

Lemma log_inverse x : 0 < x -> log (/ x) = - log x.
Proof.
  intros X. assert (I := Rinv_0_lt_compat x X).
  assert (E := log_mult x (/ x) X I). rewrite Rinv_r, log_one in E by lra. lra.
Qed.

Definition power (x y : R) : R := exp (y * log x).

Lemma power_positive x y : 0 < power x y.
Proof. apply exp_pos. Qed.

Lemma power_mult x y a : 0 < x -> 0 < y -> power x a * power y a = power (x * y) a.
Proof. intros X Y. unfold power. rewrite <- exp_plus, log_mult by auto. f_equal. ring. Qed.

Lemma power_plus a b x : power x (a + b) = power x a * power x b.
Proof. unfold power. rewrite <- exp_plus. f_equal. ring. Qed.

Lemma power_one x : 0 < x -> power x 1 = x.
Proof. intros X. unfold power. rewrite Rmult_1_l. now apply exp_log. Qed.
