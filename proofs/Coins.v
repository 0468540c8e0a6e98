(** The laws of the coins of cython_ext/_bits.pxd on ideal bits. *)
From Coq Require Import Reals ZArith List Lra Lia Bool.
From DPBoost Require Import Laws Programs Samplers.
Import ListNotations.
Open Scope R_scope.

Lemma IZR_positive z : (0 < z)%Z -> 0 < IZR z.
Proof. apply IZR_lt. Qed.

Lemma coin_bit : coin (fun _ => draw_bit) (/ 2).
Proof.
  split; [apply rising_const|]. intros f _. unfold law, draw_bit. simpl. rewrite mean_two. simpl.
  replace (/ 2 * f true + (1 - / 2) * f false) with (/ 2 * (f false + f true)) by lra.
  apply cv_const.
Qed.

(** ** [bernoulli]: random bits against the binary digits of a fraction *)

Lemma digits_rising p q : rising (digits p q).
Proof.
  intros n f F. revert p. induction n as [|n IH]; intros p.
  - destruct (p =? 0)%Z eqn:E.
    + simpl. rewrite E. lra.
    + replace (value (digits p q 0) f) with 0 by (simpl; now rewrite E). now apply value_positive.
  - change (value (if (p =? 0)%Z then Ret false else
      bind draw_bit (fun bit => if eqb bit (q - p <=? p)%Z
        then digits (if (q - p <=? p)%Z then p - (q - p) else p + p)%Z q n
        else Ret (q - p <=? p)%Z)) f
    <= value (if (p =? 0)%Z then Ret false else
      bind draw_bit (fun bit => if eqb bit (q - p <=? p)%Z
        then digits (if (q - p <=? p)%Z then p - (q - p) else p + p)%Z q (S n)
        else Ret (q - p <=? p)%Z)) f).
    destruct (p =? 0)%Z; [lra|]. rewrite !value_bind. apply value_le.
    intros b. destruct (eqb b _); [apply IH|lra].
Qed.

Lemma digits_near f q n p : positive f -> (0 <= p < q)%Z ->
  0 <= (IZR p / IZR q * f true + (1 - IZR p / IZR q) * f false) - value (digits p q n) f
    <= (/ 2) ^ n * (f true + f false).
Proof.
  intros F. revert p. induction n as [|n IH]; intros p P;
  assert (Q : 0 < IZR q) by (apply IZR_positive; lia);
  assert (T := F true); assert (G := F false).
  - assert (X : 0 <= IZR p / IZR q <= 1).
    { split.
      - apply Rmult_le_pos; [apply IZR_le; lia|left; now apply Rinv_0_lt_compat].
      - apply (Rmult_le_reg_r (IZR q)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
        rewrite Rmult_1_r, Rmult_1_l. apply IZR_le. lia. }
    simpl. destruct (Z.eqb_spec p 0) as [->|N]; simpl.
    + replace (0 / IZR q) with 0 by (field; lra). lra.
    + nra.
  - simpl. destruct (Z.eqb_spec p 0) as [->|N].
    + simpl. replace (0 / IZR q) with 0 by (field; lra).
      assert (0 <= (/ 2) ^ n) by (apply pow_le; lra). nra.
    + cbn [value]. rewrite mean_two. simpl.
      destruct (Z.leb_spec (q - p) p) as [L|L]; simpl.
      * specialize (IH (p - (q - p))%Z ltac:(lia)).
        replace (IZR p / IZR q) with (/ 2 * (1 + IZR (p - (q - p)) / IZR q))
          by (rewrite !minus_IZR; field; lra).
        set (x := IZR (p - (q - p)) / IZR q) in *. lra.
      * specialize (IH (p + p)%Z ltac:(lia)).
        replace (IZR p / IZR q) with (/ 2 * (IZR (p + p) / IZR q))
          by (rewrite plus_IZR; field; lra).
        set (x := IZR (p + p) / IZR q) in *. lra.
Qed.

Lemma cv_half m : 0 <= m -> Un_cv (fun n => (/ 2) ^ n * m) 0.
Proof.
  intros M. replace 0 with (0 * m) by lra. apply CV_mult; [|apply cv_const].
  intros e E. destruct (pow_lt_1_zero (/ 2) ltac:(rewrite Rabs_right; lra) e E) as [N H].
  exists N. intros n L. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.

Lemma cv_squeeze u v l : (forall n, 0 <= l - u n <= v n) -> Un_cv v 0 -> Un_cv u l.
Proof.
  intros B V e E. destruct (V e E) as [N H]. exists N. intros n L. specialize (H n L).
  specialize (B n). unfold R_dist in *. rewrite Rminus_0_r in H. apply Rabs_def2 in H.
  apply Rabs_def1; lra.
Qed.

Theorem coin_bernoulli p q : (0 <= p <= q)%Z -> (0 < q)%Z -> coin (bernoulli p q) (IZR p / IZR q).
Proof.
  intros P Q. unfold bernoulli. destruct (Z.leb_spec q p) as [L|L].
  - replace p with q by lia. replace (IZR q / IZR q) with 1
      by (field; apply not_0_IZR; lia). apply (coin_ret true).
  - split; [apply digits_rising|]. intros f F.
    apply cv_squeeze with (fun n => (/ 2) ^ n * (f true + f false)).
    + intros n. apply digits_near; auto. lia.
    + apply cv_half. assert (A := F true). assert (B := F false). lra.
Qed.

Lemma bernoulli_rising p q : rising (bernoulli p q).
Proof.
  unfold bernoulli. destruct (q <=? p)%Z; [apply rising_const|apply digits_rising].
Qed.

(** ** [exp(-x)]: the first failure of coins [x/1], [x/2], [x/3], ... falls on an odd position *)

Lemma walk_rises (toss : Z -> nat -> prog bool) k : (forall k, (1 <= k)%Z -> rising (toss k)) ->
  (1 <= k)%Z -> rising (walk toss k).
Proof.
  intros T K n f F. revert k K. induction n as [|n IH]; intros k K.
  - change (value (walk toss k 0) f) with 0. now apply value_positive.
  - change (value (bind (toss k n) (fun b : bool => if b then walk toss (k + 1) n else Ret (Z.odd k))) f
      <= value (bind (toss k (S n)) (fun b : bool => if b then walk toss (k + 1) (S n) else Ret (Z.odd k))) f).
    rewrite !value_bind.
    apply Rle_trans with (value (toss k n)
      (fun b : bool => value (if b then walk toss (k + 1) (S n) else Ret (Z.odd k)) f)).
    + apply value_le. intros [|]; [apply IH; lia|lra].
    + apply (T k K). intros [|]; now apply value_positive.
Qed.

Section Walk.
Variable toss : Z -> nat -> prog bool.
Variable x : R.
Hypothesis toss_coin : forall k, (1 <= k)%Z -> coin (toss k) (x / IZR k).

Let walk_rising k : (1 <= k)%Z -> rising (walk toss k).
Proof. intros. apply walk_rises; auto. intros. now apply toss_coin. Qed.

Section Value.
Variable f : bool -> R.
Hypothesis f_positive : positive f.

Let most := f true + f false.

Lemma walk_bound k n : (1 <= k)%Z -> value (walk toss k n) f <= most.
Proof.
  intros _. apply value_at_most; unfold most.
  - assert (A := f_positive true). assert (B := f_positive false). lra.
  - intros [|]; assert (A := f_positive true); assert (B := f_positive false); lra.
Qed.

Lemma position_positive i : (1 <= Z.of_nat i + 1)%Z.
Proof. lia. Qed.

(** The limit from each position on. *)
Definition limit (i : nat) : R :=
  proj1_sig (law_exists (walk toss (Z.of_nat i + 1)) f most
    (walk_rising _ (position_positive i)) f_positive (fun n => walk_bound _ n (position_positive i))).

Lemma limit_law i : law (walk toss (Z.of_nat i + 1)) f (limit i) /\ limit i <= most.
Proof. unfold limit. destruct (law_exists _ _ _ _ _ _) as [v V]. exact V. Qed.

Lemma limit_positive i : 0 <= limit i.
Proof. apply (law_positive (walk toss (Z.of_nat i + 1)) f); auto. apply limit_law. Qed.

Lemma limit_step i : limit i = x / IZR (Z.of_nat i + 1) * limit (S i)
  + (1 - x / IZR (Z.of_nat i + 1)) * f (Z.odd (Z.of_nat i + 1)).
Proof.
  apply (law_unique (walk toss (Z.of_nat i + 1)) f); [apply limit_law|]. apply cv_shift.
  set (k := (Z.of_nat i + 1)%Z) in *. assert (K : (1 <= k)%Z) by lia.
  destruct (toss_coin k K) as [R C].
  change (law (fun n => bind (toss k n)
    (fun b : bool => (fun (b : bool) n => if b then walk toss (k + 1) n else Ret (Z.odd k)) b n)) f
    (x / IZR k * limit (S i) + (1 - x / IZR k) * f (Z.odd k))).
  apply law_bind with (g := fun b : bool => if b then limit (S i) else f (Z.odd k)); auto.
  - intros [|]; [apply walk_rising; lia|apply rising_const].
  - intros [|]; [|apply law_ret].
    replace (k + 1)%Z with (Z.of_nat (S i) + 1)%Z by lia. apply limit_law.
  - apply (C (fun b : bool => if b then limit (S i) else f (Z.odd k))).
    intros [|]; [apply limit_positive|auto].
Qed.

(** How likely position [i + 1] is reached. *)
Definition reach (i : nat) : R := x ^ i / INR (fact i).

Lemma reach_step i : reach (S i) = reach i * (x / IZR (Z.of_nat i + 1)).
Proof.
  unfold reach. rewrite plus_IZR, <- INR_IZR_INZ. simpl pow. rewrite fact_simpl, mult_INR, S_INR.
  field. split; [|apply INR_fact_neq_0]. assert (P := pos_INR i). lra.
Qed.

Fixpoint alternating (m : nat) : R :=
  match m with O => 0 | S k => alternating k + (- x) ^ k / INR (fact k) end.

Lemma reach_alternating i : (- x) ^ i / INR (fact i) = if Nat.even i then reach i else - reach i.
Proof.
  unfold reach. replace (- x) with ((-1) * x) by lra. rewrite Rpow_mult_distr.
  assert (E : (-1) ^ i = if Nat.even i then 1 else -1).
  { induction i; [reflexivity|]. cbn [pow]. rewrite IHi, Nat.even_succ, <- Nat.negb_even.
    destruct (Nat.even i); simpl; lra. }
  rewrite E. destruct (Nat.even i); field; apply INR_fact_neq_0.
Qed.

Lemma odd_position i : Z.odd (Z.of_nat i + 1) = Nat.even i.
Proof.
  replace (Z.of_nat i + 1)%Z with (Z.of_nat (S i)) by lia.
  induction i; [reflexivity|]. rewrite Nat2Z.inj_succ, Z.odd_succ, <- Z.negb_odd, IHi.
  rewrite Nat.even_succ, <- Nat.negb_even. reflexivity.
Qed.

Lemma limit_unrolled j : limit 0
  = alternating (2 * j) * f true + (1 - reach (2 * j) - alternating (2 * j)) * f false
    + reach (2 * j) * limit (2 * j).
Proof.
  induction j as [|j IH].
  - simpl. unfold reach. simpl. field.
  - replace (2 * S j)%nat with (S (S (2 * j))) by lia. rewrite IH at 1.
    set (m := (2 * j)%nat) in *. assert (E : Nat.even m = true) by (unfold m; now rewrite Nat.even_mul).
    assert (O : Nat.even (S m) = false) by (rewrite Nat.even_succ, <- Nat.negb_even, E; reflexivity).
    rewrite (limit_step m), (limit_step (S m)), !odd_position, E, O.
    change (alternating (S (S m)))
      with (alternating m + (- x) ^ m / INR (fact m) + (- x) ^ S m / INR (fact (S m))).
    rewrite !reach_alternating, E, O.
    assert (A := reach_step m). assert (B := reach_step (S m)).
    set (c := x / IZR (Z.of_nat m + 1)) in *. set (d := x / IZR (Z.of_nat (S m) + 1)) in *.
    rewrite B, A. ring.
Qed.

Lemma cv_reach : Un_cv reach 0.
Proof. apply (cv_speed_pow_fact x). Qed.

Lemma cv_even u l : Un_cv u l -> Un_cv (fun j => u (2 * j)%nat) l.
Proof. intros C e E. destruct (C e E) as [N H]. exists N. intros n L. apply H. lia. Qed.

Lemma cv_alternating : Un_cv alternating (exp (- x)).
Proof.
  apply cv_shift. unfold exp. destruct (exist_exp (- x)) as [l H]. simpl.
  apply cv_ext with (sum_f_R0 (fun i => / INR (fact i) * (- x) ^ i)).
  - induction n; simpl.
    + lra.
    + simpl in IHn. rewrite IHn. unfold Rdiv. rewrite (Rmult_comm (/ _)). reflexivity.
  - exact H.
Qed.

Theorem limit_is : limit 0 = exp (- x) * f true + (1 - exp (- x)) * f false.
Proof.
  apply (UL_sequence (fun _ => limit 0)); [apply cv_const|].
  apply cv_ext with (fun j => alternating (2 * j) * f true
    + (1 - reach (2 * j) - alternating (2 * j)) * f false + reach (2 * j) * limit (2 * j)).
  - intros j. now rewrite <- limit_unrolled.
  - assert (R := cv_even _ _ cv_reach). assert (A := cv_even _ _ cv_alternating).
    replace (exp (- x) * f true + (1 - exp (- x)) * f false)
      with (exp (- x) * f true + (1 - 0 - exp (- x)) * f false + 0) by ring.
    apply CV_plus; [apply CV_plus|].
    + apply CV_mult; [auto|apply cv_const].
    + apply CV_mult; [|apply cv_const]. apply CV_minus; auto. apply CV_minus; auto. apply cv_const.
    + intros e E. assert (M : 0 <= most)
        by (unfold most; assert (P := f_positive true); assert (Q := f_positive false); lra).
      destruct (R (e / (most + 1))) as [N H]; [apply Rdiv_lt_0_compat; lra|].
      exists N. intros n L. specialize (H n L). unfold R_dist in *. rewrite Rminus_0_r in *.
      rewrite Rabs_mult. assert (B := limit_law (2 * n)). assert (P := limit_positive (2 * n)).
      rewrite (Rabs_right (limit _)) by lra.
      apply Rle_lt_trans with (e / (most + 1) * most).
      * apply Rmult_le_compat; try lra; apply Rabs_pos.
      * apply (Rmult_lt_reg_r (most + 1)); [lra|]. unfold Rdiv.
        replace (e * / (most + 1) * most * (most + 1)) with (e * most) by (field; lra). nra.
Qed.
End Value.

Theorem coin_walk : coin (walk toss 1) (exp (- x)).
Proof.
  split; [apply walk_rising; lia|]. intros f F. rewrite <- (limit_is f F).
  apply (limit_law f F 0).
Qed.
End Walk.

Theorem coin_exp_fraction p q : (0 <= p <= q)%Z -> (0 < q)%Z ->
  coin (bernoulli_exp_fraction p q) (exp (- (IZR p / IZR q))).
Proof.
  intros P Q. unfold bernoulli_exp_fraction.
  assert (T : forall k, (1 <= k)%Z -> coin (fun fuel => bind (bernoulli 1 k fuel)
    (fun b : bool => if b then bernoulli p q fuel else Ret false)) (IZR p / IZR q / IZR k)).
  { intros k K. replace (IZR p / IZR q / IZR k) with (1 / IZR k * (IZR p / IZR q))
      by (field; split; apply not_0_IZR; lia).
    apply (coin_and (bernoulli 1 k) (bernoulli p q)).
    - apply coin_bernoulli; lia.
    - now apply coin_bernoulli. }
  apply (coin_walk _ _ T).
Qed.

Lemma fraction_rising p q : rising (bernoulli_exp_fraction p q).
Proof.
  unfold bernoulli_exp_fraction. apply walk_rises; [|lia]. intros k _.
  apply (rising_bind (bernoulli 1 k) (fun (b : bool) n => if b then bernoulli p q n else Ret false)).
  - apply bernoulli_rising.
  - intros [|]; [apply bernoulli_rising|apply rising_const].
Qed.

Theorem coin_exp_one : coin bernoulli_exp_one (exp (- (1))).
Proof.
  unfold bernoulli_exp_one, bernoulli_two_over_e.
  set (toss := fun position => bernoulli 1 position).
  assert (T : forall k, (1 <= k)%Z -> coin (toss k) (1 / IZR k))
    by (intros k K; apply coin_bernoulli; lia).
  assert (W : rising (walk toss 3)) by (apply walk_rises; [intros; now apply T|lia]).
  assert (K : forall b : bool, rising (fun n => if b then walk toss 3 n else Ret false))
    by (intros [|]; auto using @rising_const).
  split.
  - apply (rising_bind (fun _ => draw_bit)
      (fun b n => if b then walk toss 3 n else Ret false)); auto. apply rising_const.
  - intros f F.
    apply (law_bind (fun _ => draw_bit) (fun (b : bool) n => if b then walk toss 3 n else Ret false) f
      (fun b : bool => if b then limit toss 1 T f F 2 else f false)); auto using @rising_const.
    + intros [|]; [|apply law_ret]. apply (limit_law toss 1 T f F 2).
    + rewrite <- (limit_is toss 1 T f F).
      rewrite (limit_step toss 1 T f F 0), (limit_step toss 1 T f F 1). simpl.
      replace (1 / 1 * (1 / 2 * limit toss 1 T f F 2 + (1 - 1 / 2) * f false) + (1 - 1 / 1) * f true)
        with (/ 2 * limit toss 1 T f F 2 + (1 - / 2) * f false) by field.
      apply (proj2 coin_bit (fun b : bool => if b then limit toss 1 T f F 2 else f false)).
      intros [|]; auto. apply limit_positive.
Qed.

(** ** [bernoulli_exp], [bernoulli_exp_wide]: larger exponents *)

Lemma exp_rising p q : (0 <= p)%Z -> (0 < q)%Z -> rising (bernoulli_exp p q).
Proof.
  intros P Q n f F. revert p P. induction n as [|n IH]; intros p P.
  - simpl. destruct (Z.leb_spec q p).
    + now apply value_positive.
    + apply coin_exp_fraction; auto. lia.
  - cbn [bernoulli_exp]. destruct (Z.leb_spec q p).
    + rewrite !value_bind.
      apply Rle_trans with (value (bernoulli_exp_one n) (fun b : bool =>
        value (if b then bernoulli_exp (p - q) q (S n) else Ret false) f)).
      * apply value_le. intros [|]; [apply IH; lia|lra].
      * apply (proj1 coin_exp_one). intros [|]; now apply value_positive.
    + apply coin_exp_fraction; auto. lia.
Qed.

Theorem coin_exp p q : (0 <= p)%Z -> (0 < q)%Z -> coin (bernoulli_exp p q) (exp (- (IZR p / IZR q))).
Proof.
  intros P Q. assert (QR : 0 < IZR q) by now apply IZR_positive.
  assert (G : forall k : nat, forall p, (0 <= p < (Z.of_nat k + 1) * q)%Z ->
    coin (bernoulli_exp p q) (exp (- (IZR p / IZR q)))).
  { clear p P. induction k as [|k IH]; intros p L.
    - apply coin_shift; [apply exp_rising; lia|]. cbn [bernoulli_exp].
      destruct (Z.leb_spec q p); [lia|].
      destruct (coin_exp_fraction p q ltac:(lia) Q) as [R C].
      split; [intros n; apply R|]. intros f F. apply (cv_shifted _ _ (C f F)).
    - destruct (Z.le_gt_cases q p) as [M|M]; [|apply IH; lia].
      apply coin_shift; [apply exp_rising; lia|]. cbn [bernoulli_exp].
      destruct (Z.leb_spec q p); [|lia].
      replace (exp (- (IZR p / IZR q))) with (exp (- (1)) * exp (- (IZR (p - q) / IZR q))).
      + apply (coin_and bernoulli_exp_one (bernoulli_exp (p - q) q)); [apply coin_exp_one|].
        apply IH. lia.
      + rewrite <- exp_plus, minus_IZR. f_equal. field. lra. }
  apply (G (Z.to_nat (p / q))). rewrite Z2Nat.id by (apply Z.div_pos; lia).
  assert (D := Z.div_mod p q ltac:(lia)). assert (B := Z.mod_pos_bound p q Q). lia.
Qed.
