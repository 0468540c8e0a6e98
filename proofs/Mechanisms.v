(** What noise costs: discrete Laplace noise on a vector, the exponential mechanism, groups. *)
From Coq Require Import Reals ZArith List Lra Lia.
From DPBoost Require Import Powers Laws Sums Samplers Noise.
Open Scope R_scope.

Fixpoint product (n : nat) (f : nat -> R) : R :=
  match n with O => 1 | S k => product k f * f k end.

(** [mechanisms.DiscreteLaplace]: numerator [p] and denominator [q] of the exponent of a unit. *)
Section Laplace.
Variables p q : Z.
Hypothesis p_range : (1 <= p < word32)%Z.
Hypothesis q_range : (1 <= q < word32)%Z.

Definition noisy (n : nat) (value out : nat -> Z) : R :=
  product n (fun i => laplace p q (out i - value i)).

Lemma laplace_shift a b : laplace p q a <= exp (IZR (Z.abs (b - a)) * (IZR p / IZR q)) * laplace p q b.
Proof.
  assert (Q : 0 < IZR q) by (apply IZR_lt; lia). assert (P : 0 < IZR p) by (apply IZR_lt; lia).
  assert (W : weight q p < 1) by (apply weight_less; auto; lia).
  assert (V := weight_positive q p). unfold laplace.
  set (c := (1 - weight q p) / (1 + weight q p)).
  assert (C : 0 < c) by (unfold c; apply Rdiv_lt_0_compat; lra).
  replace (exp (IZR (Z.abs (b - a)) * (IZR p / IZR q)) * (c * weight q (Z.abs b * p)))
    with (c * (exp (IZR (Z.abs (b - a)) * (IZR p / IZR q)) * weight q (Z.abs b * p))) by ring.
  apply Rmult_le_compat_l; [lra|]. unfold weight. rewrite <- exp_plus.
  assert (L : - (IZR (Z.abs a * p) / IZR q)
    <= IZR (Z.abs (b - a)) * (IZR p / IZR q) + - (IZR (Z.abs b * p) / IZR q)).
  { rewrite !mult_IZR.
    assert (T : IZR (Z.abs b) <= IZR (Z.abs (b - a)) + IZR (Z.abs a))
      by (rewrite <- plus_IZR; apply IZR_le; lia).
    assert (X : 0 < IZR p / IZR q) by now apply Rdiv_lt_0_compat.
    replace (IZR (Z.abs a) * IZR p / IZR q) with (IZR (Z.abs a) * (IZR p / IZR q)) by (field; lra).
    replace (IZR (Z.abs b) * IZR p / IZR q) with (IZR (Z.abs b) * (IZR p / IZR q)) by (field; lra).
    nra. }
  destruct L as [L|L]; [left; now apply exp_less|rewrite L; lra].
Qed.

(** A vector that neighbours move by at most [l1] in the L1 norm is released with a pure epsilon of
    [l1 * p / q]. *)
Theorem laplace_private n x y out (l1 : Z) : (total n (fun i => Z.abs (x i - y i)) <= l1)%Z ->
  noisy n x out <= exp (IZR l1 * (IZR p / IZR q)) * noisy n y out.
Proof.
  assert (Q : 0 < IZR q) by (apply IZR_lt; lia). assert (P : 0 < IZR p) by (apply IZR_lt; lia).
  assert (X : 0 < IZR p / IZR q) by now apply Rdiv_lt_0_compat.
  assert (W : weight q p < 1) by (apply weight_less; auto; lia).
  assert (V := weight_positive q p).
  assert (N : forall k, 0 <= laplace p q k).
  { intros k. unfold laplace. apply Rmult_le_pos; [|left; apply weight_positive].
    left. apply Rdiv_lt_0_compat; lra. }
  assert (M : forall z m, 0 <= noisy m z out).
  { intros z m. unfold noisy. induction m; simpl; [lra|]. apply Rmult_le_pos; auto. }
  intros L. apply Rle_trans
    with (exp (IZR (total n (fun i => Z.abs (x i - y i))) * (IZR p / IZR q)) * noisy n y out).
  - clear L. unfold noisy in *. induction n as [|n IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
    cbn [product total]. rewrite plus_IZR, Rmult_plus_distr_r, exp_plus.
    assert (S := laplace_shift (out n - x n) (out n - y n)).
    replace (out n - y n - (out n - x n))%Z with (x n - y n)%Z in S by lia.
    set (a := exp (IZR (total n _) * _)) in *.
    set (b := exp (IZR (Z.abs (x n - y n)) * (IZR p / IZR q))) in *.
    apply Rle_trans with ((a * product n (fun i => laplace p q (out i - y i)))
      * (b * laplace p q (out n - y n))); [|right; ring].
    apply Rmult_le_compat; auto; try apply (M x).
  - apply Rmult_le_compat_r; auto. apply IZR_le in L.
    assert (IZR (total n (fun i => Z.abs (x i - y i))) * (IZR p / IZR q) <= IZR l1 * (IZR p / IZR q))
      by (apply Rmult_le_compat_r; lra).
    destruct H as [H|H]; [left; now apply exp_less|rewrite H; lra].
Qed.
End Laplace.

(** [mechanisms.ExponentialMechanism]: scores that move by amounts in [a, b] with [b - a] at most
    the range, weights [exp (e * score / range)]. *)
Section Exponential.
Variable A : Type.
Variable candidates : list A.
Variables s t : A -> R.
Variables e range a b : R.
Hypothesis e_positive : 0 < e.
Hypothesis range_positive : 0 < range.
Hypothesis moved : forall x, In x candidates -> a <= s x - t x <= b.
Hypothesis range_covers : b - a <= range.

Definition chosen (f : A -> R) (x : A) : R :=
  exp (e * f x / range) / over candidates (fun y => exp (e * f y / range)).

Theorem exponential_private x : In x candidates -> chosen s x <= exp e * chosen t x.
Proof.
  intros I. unfold chosen.
  set (u := over candidates (fun y => exp (e * s y / range))).
  set (v := over candidates (fun y => exp (e * t y / range))).
  assert (K : forall f, exp (e * f x / range) <= over candidates (fun y => exp (e * f y / range))).
  { intros f. clear - I. induction candidates as [|c l IH]; [destruct I|]. simpl.
    assert (P := exp_pos (e * f c / range)).
    assert (N : 0 <= over l (fun y => exp (e * f y / range)))
      by (apply over_nonneg; intros; left; apply exp_pos).
    destruct I as [->|I]; [lra|]. specialize (IH I). lra. }
  assert (U : 0 < u) by (apply Rlt_le_trans with (exp (e * s x / range)); [apply exp_pos|apply K]).
  assert (V : 0 < v) by (apply Rlt_le_trans with (exp (e * t x / range)); [apply exp_pos|apply K]).
  set (w := e / range). assert (W : 0 < w) by (unfold w; now apply Rdiv_lt_0_compat).
  assert (N : exp (e * s x / range) <= exp (w * b) * exp (e * t x / range)).
  { rewrite <- exp_plus. apply exp_le.
    replace (e * s x / range) with (w * s x) by (unfold w; field; lra).
    replace (e * t x / range) with (w * t x) by (unfold w; field; lra).
    destruct (moved x I). nra. }
  assert (D : exp (w * a) * v <= u).
  { unfold u, v. rewrite <- over_scale. apply over_le. intros y Y. rewrite <- exp_plus.
    apply exp_le. replace (e * s y / range) with (w * s y) by (unfold w; field; lra).
    replace (e * t y / range) with (w * t y) by (unfold w; field; lra).
    destruct (moved y Y). nra. }
  assert (E : exp (w * b) <= exp e * exp (w * a)).
  { rewrite <- exp_plus. apply exp_le.
    assert (w * (b - a) <= w * range) by (apply Rmult_le_compat_l; lra).
    replace (w * range) with e in H by (unfold w; field; lra). lra. }
  assert (X := exp_pos (e * t x / range)). set (z := exp (e * t x / range)) in *.
  assert (B := exp_pos (w * a)). assert (F := exp_pos e).
  apply (Rmult_le_reg_r u); auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (exp (w * b) * z); auto.
  apply Rle_trans with (exp e * exp (w * a) * z); [apply Rmult_le_compat_r; lra|].
  replace (exp e * exp (w * a) * z) with (exp e * (z / v) * (exp (w * a) * v)) by (field; lra).
  apply Rmult_le_compat_l; auto. apply Rmult_le_pos; [lra|].
  apply Rmult_le_pos; [lra|]. left. now apply Rinv_0_lt_compat.
Qed.
End Exponential.

(** [group_privacy.for_group], pure: [k] steps cost [k] times epsilon. *)
Theorem pure_group {A} (p : nat -> A -> R) e k : (forall i, close e (p i) (p (S i))) ->
  close (INR k * e) (p 0%nat) (p k).
Proof.
  intros H x. induction k as [|k IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  apply Rle_trans with (exp (INR k * e) * p k x); auto.
  rewrite S_INR, Rmult_plus_distr_r, exp_plus, Rmult_1_l, Rmult_assoc.
  apply Rmult_le_compat_l; [left; apply exp_pos|]. apply H.
Qed.
