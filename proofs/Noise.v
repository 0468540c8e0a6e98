(** The laws of the noise of cython_ext/noise.pyx on ideal bits: discrete Laplace and discrete
    Gaussian. *)
From Coq Require Import Reals ZArith List Lra Lia Bool.
From DPBoost Require Import Powers Laws Programs Samplers Coins.
Import ListNotations.
Open Scope R_scope.

(** ** [draw_below]: Lemire's method is uniform *)

Section Below.
Variables word n : Z.
Hypothesis n_range : (1 <= n < word)%Z.

Let surplus := ((word - n) mod n)%Z.
Let times := (word / n)%Z.

Lemma surplus_range : (0 <= surplus < n)%Z.
Proof. apply Z.mod_pos_bound. lia. Qed.

Lemma word_split : word = (times * n + surplus)%Z.
Proof.
  unfold times, surplus. rewrite <- Zminus_mod_idemp_r, Z_mod_same_full, Z.sub_0_r.
  rewrite Z.mul_comm. apply Z.div_mod. lia.
Qed.

Lemma times_positive : (1 <= times)%Z.
Proof. unfold times. apply Z.div_le_lower_bound; lia. Qed.

(** The words that give [v] are neighbours, and there are [times] of them. *)
Lemma preimage w v : (0 <= w < word)%Z -> (0 <= v < n)%Z ->
  let first := ((v * word + surplus + n - 1) / n)%Z in
  (((w * n) / word =? v) && negb ((w * n) mod word <? surplus))%Z
  = ((first <=? w) && (w <? first + times))%Z.
Proof.
  intros W V first. assert (S := surplus_range). assert (E := word_split).
  assert (P : (0 < word)%Z) by lia.
  assert (D := Z.div_mod (w * n) word ltac:(lia)).
  assert (B := Z.mod_pos_bound (w * n) word P).
  assert (F := Z.div_mod (v * word + surplus + n - 1) n ltac:(lia)). fold first in F.
  assert (G := Z.mod_pos_bound (v * word + surplus + n - 1) n ltac:(lia)).
  set (a := ((w * n) / word)%Z) in *. set (b := ((w * n) mod word)%Z) in *.
  set (c := ((v * word + surplus + n - 1) mod n)%Z) in *.
  clearbody a b c first. clear - S E P D B F G V W n_range.
  assert (L : (first <= w)%Z <-> (v * word + surplus <= w * n)%Z) by (split; nia).
  assert (R : (w < first + times)%Z <-> (w * n < v * word + word)%Z) by (split; nia).
  destruct (Z.eqb_spec a v) as [->|N]; simpl.
  - destruct (Z.ltb_spec b surplus); simpl;
    destruct (Z.leb_spec first w), (Z.ltb_spec w (first + times)); simpl; auto; exfalso; nia.
  - destruct (Z.leb_spec first w), (Z.ltb_spec w (first + times)); simpl; auto. exfalso.
    apply N. assert (v * word <= w * n < v * word + word)%Z by (split; [nia|apply R; auto]). nia.
Qed.

Lemma preimage_range v : (0 <= v < n)%Z ->
  let first := ((v * word + surplus + n - 1) / n)%Z in (0 <= first /\ first + times <= word)%Z.
Proof.
  intros V first. assert (S := surplus_range). assert (E := word_split).
  assert (F := Z.div_mod (v * word + surplus + n - 1) n ltac:(lia)). fold first in F.
  assert (G := Z.mod_pos_bound (v * word + surplus + n - 1) n ltac:(lia)).
  set (c := ((v * word + surplus + n - 1) mod n)%Z) in *. assert (P : (0 < word)%Z) by lia.
  clearbody c first. split; nia.
Qed.

Lemma below_sum (f : Z -> R) :
  over (upto word) (fun w =>
    if ((w * n) mod word <? surplus)%Z then 0 else f ((w * n) / word)%Z)
  = IZR times * over (upto n) f.
Proof.
  rewrite (over_ext _ _ (fun w => over (upto n) (fun v =>
    if andb ((w * n) / word =? v)%Z (negb ((w * n) mod word <? surplus)%Z) then f v else 0))).
  - rewrite over_swap, <- over_scale. apply over_ext. intros v V. apply in_upto in V.
    destruct (preimage_range v V) as [A B].
    rewrite (over_ext _ _ (fun w =>
      if andb ((v * word + surplus + n - 1) / n <=? w)%Z
        (w <? (v * word + surplus + n - 1) / n + times)%Z then f v else 0)).
    + rewrite over_upto_interval by (assert (T := times_positive); lia). f_equal. f_equal. lia.
    + intros w W. apply in_upto in W. rewrite preimage by auto. reflexivity.
  - intros w W. apply in_upto in W.
    assert (A : (0 <= (w * n) / word < n)%Z).
    { split; [apply Z.div_pos; nia|]. apply Z.div_lt_upper_bound; nia. }
    rewrite (over_ext _ _ (fun v => if Z.eqb v ((w * n) / word)%Z
      then (if ((w * n) mod word <? surplus)%Z then 0 else f v) else 0)).
    + set (a := ((w * n) / word)%Z) in *. set (s := ((w * n) mod word <? surplus)%Z).
      rewrite (over_ext _ _ (fun v => if andb (a <=? v)%Z (v <? a + 1)%Z
        then (if s then 0 else f a) else 0)).
      * rewrite over_upto_interval by lia. replace (a + 1 - a)%Z with 1%Z by lia. lra.
      * intros v _. destruct (Z.eqb_spec v a) as [->|N].
        -- destruct (Z.leb_spec a a), (Z.ltb_spec a (a + 1)); try lia. reflexivity.
        -- destruct (Z.leb_spec a v), (Z.ltb_spec v (a + 1)); try lia; reflexivity.
    + intros v _. rewrite Z.eqb_sym.
      destruct (Z.eqb v _), (Z.ltb _ surplus); reflexivity.
Qed.

(** The kernel looks at the surplus only where the low word is below [n]. *)
Lemma below_test w : (andb ((w * n) mod word <? n) ((w * n) mod word <? surplus))%Z
  = ((w * n) mod word <? surplus)%Z.
Proof.
  assert (S := surplus_range). destruct (Z.ltb_spec ((w * n) mod word) surplus);
  [|apply andb_false_r]. destruct (Z.ltb_spec ((w * n) mod word) n); [reflexivity|lia].
Qed.

Theorem below_law f : positive f -> law (loop (fun _ => below_body word n)) f (mean n f).
Proof.
  intros F.
    assert (W : 0 < IZR word) by (apply IZR_lt; lia).
    assert (NP : 0 < IZR n) by (apply IZR_lt; lia).
    assert (T := times_positive). assert (TP : 0 < IZR times) by (apply IZR_lt; lia).
    assert (E := word_split).
    assert (A : forall g : option Z -> R, value (below_body word n) g
      = mean word (fun w => g (if ((w * n) mod word <? surplus)%Z then None
          else Some ((w * n) / word)%Z))).
    { intros g. unfold below_body. cbn [value]. apply mean_ext. intros w _.
      fold surplus. rewrite below_test. now destruct ((w * n) mod word <? surplus)%Z. }
    assert (S : law (fun _ : nat => below_body word n) (on_some f)
      (/ IZR word * (IZR times * over (upto n) f))).
    { unfold law. apply cv_ext with (fun _ => / IZR word * (IZR times * over (upto n) f));
      [|apply cv_const]. intros _. rewrite A, <- below_sum. unfold mean. f_equal.
      apply over_ext. intros w _. now destruct ((w * n) mod word <? surplus)%Z. }
    assert (X : IZR word = IZR times * IZR n + IZR surplus)
      by (rewrite <- mult_IZR, <- plus_IZR; f_equal; exact E).
    assert (O : over (upto word) (fun w => if ((w * n) mod word <? surplus)%Z then 1 else 0)
      = IZR surplus).
    { assert (K := below_sum (fun _ => 1)). rewrite over_upto_const in K by (clear - n_range; lia).
      assert (M : over (upto word) (fun w => (if ((w * n) mod word <? surplus)%Z then 1 else 0)
        + (if ((w * n) mod word <? surplus)%Z then 0 else 1)) = IZR word).
      { rewrite (over_ext _ _ (fun _ => 1)), over_upto_const by
          (solve [intros; destruct (_ <? _)%Z; lra | clear - n_range; lia]). lra. }
      rewrite over_add, K in M. lra. }
    assert (R : law (fun _ : nat => below_body word n) on_none (/ IZR word * IZR surplus)).
    { unfold law. apply cv_ext with (fun _ => / IZR word * IZR surplus); [|apply cv_const].
      intros _. rewrite A, <- O. unfold mean. f_equal. apply over_ext. intros w _.
      now destruct ((w * n) mod word <? surplus)%Z. }
    assert (Y : 1 - / IZR word * IZR surplus = / IZR word * (IZR times * IZR n)).
    { replace (IZR surplus) with (IZR word - IZR times * IZR n) by lra. field. lra. }
    assert (Z : 0 < / IZR word * (IZR times * IZR n))
      by (repeat apply Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
    replace (mean n f) with
      (/ IZR word * (IZR times * over (upto n) f) / (1 - / IZR word * IZR surplus)).
    + apply law_loop; auto using @rising_const. lra.
    + rewrite Y. unfold mean. field. repeat split; lra.
Qed.
End Below.

Opaque word32.

Lemma draw_below_rising n : rising (draw_below n).
Proof.
  unfold draw_below. destruct (n =? 1)%Z; [apply rising_const|].
  apply rising_loop. exact (rising_const (draw_below_body n)).
Qed.

Theorem draw_below_law n f : (1 <= n < word32)%Z -> positive f -> law (draw_below n) f (mean n f).
Proof.
  intros N F. unfold draw_below. destruct (Z.eqb_spec n 1) as [->|_].
  - unfold mean. change (upto 1) with [0%Z]. simpl. replace (/ 1 * (f 0%Z + 0)) with (f 0%Z) by field.
    apply law_ret.
  - exact (below_law word32 n N f F).
Qed.

(** ** [draw_magnitude]: a geometric number *)

Section Laplace.
Variables p q : Z.                      (* numerator and denominator *)
Hypothesis p_range : (1 <= p < word32)%Z.
Hypothesis q_range : (1 <= q < word32)%Z.

Let qr : 0 < IZR q. Proof. apply IZR_lt. lia. Qed.
Let pr : 0 < IZR p. Proof. apply IZR_lt. lia. Qed.

Definition weight (x : Z) : R := exp (- (IZR x / IZR q)).

Lemma weight_positive x : 0 < weight x. Proof. apply exp_pos. Qed.
Lemma weight_add x y : weight (x + y) = weight x * weight y.
Proof.
  unfold weight. rewrite <- exp_plus, plus_IZR. f_equal. field. lra.
Qed.
Lemma weight_zero : weight 0 = 1.
Proof. unfold weight. replace (- (0 / IZR q)) with 0 by (field; lra). apply exp_0. Qed.
Lemma weight_less x : (0 < x)%Z -> weight x < 1.
Proof.
  intros X. rewrite <- exp_0. apply exp_less.
  assert (0 < IZR x / IZR q) by (apply Rdiv_lt_0_compat; auto; now apply IZR_lt). lra.
Qed.
Lemma weight_one_less : weight 1 < 1. Proof. apply weight_less. lia. Qed.
Lemma weight_q : weight q = exp (- (1)).
Proof. unfold weight. f_equal. field. lra. Qed.

(** Sums of neighbouring weights. *)
Lemma weight_sum a n : (0 <= n)%Z ->
  over (upto n) (fun i => weight (a + i)) * (1 - weight 1) = weight a - weight (a + n).
Proof.
  revert n. apply upto_ind.
  - simpl. rewrite Z.add_0_r. lra.
  - intros n N IH. rewrite upto_succ, over_app by auto. cbn [over].
    rewrite Rmult_plus_distr_r, IH. rewrite Z.add_assoc, (weight_add (a + n) 1). lra.
Qed.

Lemma weight_all : over (upto q) weight = (1 - exp (- (1))) / (1 - weight 1).
Proof.
  assert (W := weight_one_less).
  apply (Rmult_eq_reg_r (1 - weight 1)); [|lra].
  assert (S := weight_sum 0 q ltac:(lia)). simpl in S. rewrite weight_zero, weight_q in S.
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r, <- S. reflexivity.
Qed.

Lemma exp_minus_one : exp (- (1)) < 1.
Proof. assert (H : exp (- (1)) < exp 0) by (apply exp_less; lra). now rewrite exp_0 in H. Qed.

(** *** The remainder below [q] *)

Lemma remainder_rising : rising (remainder_body q).
Proof.
  apply (rising_bind (draw_below q) (fun x n => bind (bernoulli_exp_fraction x q n)
    (fun b : bool => Ret (if b then Some x else None)))); [apply draw_below_rising|].
  intros x. apply (rising_bind (bernoulli_exp_fraction x q)
    (fun (b : bool) _ => Ret (if b then Some x else None)));
  [apply fraction_rising|intros; apply rising_const].
Qed.

Lemma remainder_law_of f m : positive f -> (forall o, f o <= m) ->
  law (remainder_body q) f
    (mean q (fun x => weight x * f (Some x) + (1 - weight x) * f None)).
Proof.
  intros F B.
  set (next := fun (x : Z) (n : nat) => bind (bernoulli_exp_fraction x q n)
    (fun b : bool => Ret (if b then Some x else None))).
  assert (R : forall x, rising (next x)).
  { intros x. apply (rising_bind (bernoulli_exp_fraction x q)
      (fun (b : bool) _ => Ret (if b then Some x else None)));
    [apply fraction_rising|intros; apply rising_const]. }
  assert (M : 0 <= m) by (apply Rle_trans with (f None); auto).
  assert (U : forall x n, value (next x n) f <= m) by (intros; apply value_at_most; auto).
  set (g := fun x => if andb (0 <=? x)%Z (x <? q)%Z
    then weight x * f (Some x) + (1 - weight x) * f None
    else proj1_sig (law_exists (next x) f m (R x) F (U x))).
  assert (G : forall x, law (next x) f (g x)).
  { intros x. unfold g. destruct (andb _ _) eqn:E.
    - apply andb_prop in E as [X Y]. apply Z.leb_le in X. apply Z.ltb_lt in Y.
      destruct (coin_exp_fraction x q ltac:(lia) ltac:(lia)) as [K C].
      apply (law_bind (bernoulli_exp_fraction x q)
        (fun (b : bool) _ => Ret (if b then Some x else None)) f
        (fun b : bool => f (if b then Some x else None))); auto.
      + intros; apply rising_const.
      + intros b. apply law_ret.
      + apply (C (fun b : bool => f (if b then Some x else None))). intros b. apply F.
    - destruct (law_exists _ _ _ _ _ _) as [v V]. exact (proj1 V). }
  replace (mean q (fun x => weight x * f (Some x) + (1 - weight x) * f None)) with (mean q g).
  - apply (law_bind (draw_below q) next f g); auto using draw_below_rising.
    apply draw_below_law; auto. intros x. apply (law_positive (next x) f); auto.
  - apply mean_ext. intros x X. unfold g. destruct (Z.leb_spec 0 x), (Z.ltb_spec x q); try lia.
    reflexivity.
Qed.

Lemma over_upto_positive n f : (0 < n)%Z -> (forall z, 0 < f z) -> 0 < over (upto n) f.
Proof.
  intros N P. replace n with ((n - 1) + 1)%Z by lia. rewrite upto_succ, over_app by lia.
  assert (0 <= over (upto (n - 1)) f) by (apply over_nonneg; intros; left; apply P).
  simpl. specialize (P (n - 1)%Z). lra.
Qed.

Lemma remainder_law f m : positive f -> (forall x, f x <= m) ->
  law (loop (remainder_body q)) f
    (over (upto q) (fun x => weight x * f x) / over (upto q) weight).
Proof.
  intros F B. assert (M : 0 <= m) by (apply Rle_trans with (f 0%Z); auto).
  assert (S := remainder_law_of (on_some f) m (on_some_positive f F)).
  assert (T := remainder_law_of on_none 1 on_none_positive). simpl in S, T.
  assert (W : 0 < over (upto q) weight) by (apply over_upto_positive; [lia|apply weight_positive]).
  set (s := mean q (fun x => weight x * f x + (1 - weight x) * 0)) in *.
  set (t := mean q (fun x => weight x * 0 + (1 - weight x) * 1)) in *.
  assert (E : 1 - t = / IZR q * over (upto q) weight).
  { unfold t. rewrite (mean_ext q _ (fun x => 1 + (-1) * weight x)) by (intros; lra).
    rewrite mean_add, mean_scale, mean_const by lia. unfold mean. lra. }
  assert (D : 0 < 1 - t)
    by (rewrite E; apply Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
  replace (over (upto q) (fun x => weight x * f x) / over (upto q) weight) with (s / (1 - t)).
  - apply law_loop; auto using remainder_rising.
    + apply S. intros [x|]; simpl; auto.
    + apply T. intros [x|]; simpl; lra.
    + lra.
  - rewrite E. unfold s. rewrite (mean_ext q _ (fun x => weight x * f x)) by (intros; lra).
    unfold mean. field. split; lra.
Qed.

(** *** The multiple of [q]: a number of successes *)

Definition point (y z : Z) : R := if (z =? y)%Z then 1 else 0.
Lemma point_positive y : positive (point y).
Proof. intros z. unfold point. destruct (z =? y)%Z; lra. Qed.
Lemma point_le y z : point y z <= 1.
Proof. unfold point. destruct (z =? y)%Z; lra. Qed.

Definition fall : R := 1 - exp (- (1)).

Lemma successes_rising m : rising (successes m).
Proof.
  intros n f F. revert m. induction n as [|n IH]; intros m.
  - change (value (successes m 0) f) with 0. now apply value_positive.
  - change (value (bind (bernoulli_exp_one n) (fun b : bool => if b then successes (m + 1) n else Ret m)) f
      <= value (bind (bernoulli_exp_one (S n)) (fun b : bool => if b then successes (m + 1) (S n) else Ret m)) f).
    rewrite !value_bind. apply Rle_trans with (value (bernoulli_exp_one n)
      (fun b : bool => value (if b then successes (m + 1) (S n) else Ret m) f)).
    + apply value_le. intros [|]; [apply IH|lra].
    + apply (proj1 coin_exp_one). intros [|]; now apply value_positive.
Qed.

Lemma successes_below m y n : (y < m)%Z -> value (successes m n) (point y) = 0.
Proof.
  revert m. induction n as [|n IH]; intros m L; [reflexivity|].
  change (value (bind (bernoulli_exp_one n)
    (fun b : bool => if b then successes (m + 1) n else Ret m)) (point y) = 0).
  rewrite value_bind, (value_ext _ _ (fun _ => 0)); [apply value_zero|].
  intros [|]; [apply IH; lia|]. simpl. unfold point. destruct (Z.eqb_spec m y); [lia|reflexivity].
Qed.

Definition many (y : Z) : R := if (0 <=? y)%Z then exp (- IZR y) * fall else 0.

Lemma successes_law_from (k : nat) m : law (successes m) (point (m + Z.of_nat k)) (many (Z.of_nat k)).
Proof.
  revert m. induction k as [|k IH]; intros m; apply cv_shift;
  assert (R : forall b : bool, rising (fun n => if b then successes (m + 1) n else Ret m))
    by (intros [|]; [apply successes_rising|apply rising_const]);
  match goal with |- Un_cv (fun n => value (successes m (S n)) (point ?z)) ?v =>
    set (y := z); change (law (fun n => bind (bernoulli_exp_one n)
      (fun b : bool => (fun (b : bool) n => if b then successes (m + 1) n else Ret m) b n))
      (point y) v) end.
  - apply law_bind with (g := fun b : bool => if b then 0 else point y m);
      auto using point_positive; [apply coin_exp_one| |].
    + intros [|]; [|apply law_ret]. unfold law. apply cv_ext with (fun _ => 0); [|apply cv_const].
      intros n. symmetry. apply successes_below. unfold y. lia.
    + replace (many (Z.of_nat 0)) with (exp (- (1)) * 0 + (1 - exp (- (1))) * point y m).
      * apply (proj2 coin_exp_one (fun b : bool => if b then 0 else point y m)).
        intros [|]; [lra|apply point_positive].
      * unfold many, point, y, fall. simpl. rewrite Z.add_0_r, Z.eqb_refl, Ropp_0, exp_0. lra.
  - apply law_bind with (g := fun b : bool => if b then many (Z.of_nat k) else point y m);
      auto using point_positive; [apply coin_exp_one| |].
    + intros [|]; [|apply law_ret]. replace y with (m + 1 + Z.of_nat k)%Z by (unfold y; lia).
      apply IH.
    + replace (many (Z.of_nat (S k)))
        with (exp (- (1)) * many (Z.of_nat k) + (1 - exp (- (1))) * point y m).
      * apply (proj2 coin_exp_one (fun b : bool => if b then many (Z.of_nat k) else point y m)).
        intros [|]; [|apply point_positive]. unfold many, fall. destruct (_ <=? _)%Z; [|lra].
        assert (exp (- (1)) < 1) by apply exp_minus_one.
        apply Rmult_le_pos; [left; apply exp_pos|lra].
      * unfold many, point, y. destruct (Z.eqb_spec m (m + Z.of_nat (S k))); [lia|].
        destruct (Z.leb_spec 0 (Z.of_nat k)), (Z.leb_spec 0 (Z.of_nat (S k))); try lia.
        rewrite Nat2Z.inj_succ, succ_IZR, Ropp_plus_distr, exp_plus. ring.
Qed.

Lemma successes_law y : law (successes 0) (point y) (many y).
Proof.
  destruct (Z.lt_ge_cases y 0) as [L|L].
  - unfold many. destruct (Z.leb_spec 0 y); [lia|]. unfold law.
    apply cv_ext with (fun _ => 0); [|apply cv_const].
    intros n. symmetry. now apply successes_below.
  - assert (S := successes_law_from (Z.to_nat y) 0). rewrite Z2Nat.id in S by lia. exact S.
Qed.

(** *** Both together *)

Lemma over_upto_point n a f : (0 <= a < n)%Z ->
  over (upto n) (fun z => if (z =? a)%Z then f z else 0) = f a.
Proof.
  intros A. rewrite (over_ext _ _ (fun z => if andb (a <=? z)%Z (z <? a + 1)%Z then f a else 0)).
  - rewrite over_upto_interval by lia. replace (a + 1 - a)%Z with 1%Z by lia. lra.
  - intros z _. destruct (Z.eqb_spec z a) as [->|N];
    destruct (Z.leb_spec a a), (Z.ltb_spec a (a + 1)); try lia; [reflexivity|].
    destruct (Z.leb_spec a z), (Z.ltb_spec z (a + 1)); try lia; reflexivity.
Qed.

Lemma law_at_most {A} (s : nat -> prog A) f v m : law s f v -> (forall n, value (s n) f <= m) -> v <= m.
Proof.
  intros L B. destruct (Rle_lt_dec v m) as [|N]; auto. exfalso.
  destruct (L (v - m)) as [n H]; [lra|]. specialize (H n (le_n n)). unfold R_dist in H.
  apply Rabs_def2 in H. specialize (B n). lra.
Qed.

(** The multiple that brings a remainder to [y]. *)
Definition rest (z : Z) : R := if (z mod q =? 0)%Z then many (z / q) else 0.

Lemma rest_law x y : law (successes 0) (fun m => point y (x + m * q)) (rest (y - x)).
Proof.
  assert (D := Z.div_mod (y - x) q ltac:(lia)).
  unfold rest. destruct (Z.eqb_spec ((y - x) mod q) 0) as [E|E].
  - apply law_ext with (point ((y - x) / q)); [|apply successes_law].
    intros m. unfold point. destruct (Z.eqb_spec m ((y - x) / q)), (Z.eqb_spec (x + m * q) y);
    auto; exfalso; nia.
  - apply law_ext with (fun _ => 0); [|apply law_zero].
    intros m. unfold point. destruct (Z.eqb_spec (x + m * q) y); auto. exfalso. apply E.
    replace (y - x)%Z with (m * q)%Z by lia. apply Z.mod_mul. lia.
Qed.

Lemma rest_sum y : (0 <= y)%Z ->
  over (upto q) (fun x => weight x * rest (y - x)) = weight y * fall.
Proof.
  intros Y. assert (D := Z.div_mod y q ltac:(lia)). assert (B := Z.mod_pos_bound y q ltac:(lia)).
  rewrite (over_ext _ _ (fun x => if (x =? y mod q)%Z then weight x * many (y / q) else 0)).
  - rewrite (over_upto_point q (y mod q) (fun x => weight x * many (y / q))) by auto.
    unfold many. assert (0 <= y / q)%Z by (apply Z.div_pos; lia).
    destruct (Z.leb_spec 0 (y / q)); [|lia].
    rewrite D at 3. rewrite weight_add.
    replace (weight (q * (y / q))) with (exp (- IZR (y / q))); [ring|].
    unfold weight. f_equal. rewrite mult_IZR. field. lra.
  - intros x X. apply in_upto in X. unfold rest. destruct (Z.eqb_spec x (y mod q)) as [->|N].
    + replace (y - y mod q)%Z with (y / q * q)%Z by lia.
      rewrite Z.mod_mul, Z.div_mul by lia. reflexivity.
    + destruct (Z.eqb_spec ((y - x) mod q) 0) as [E|E]; [|lra]. exfalso. apply N.
      assert (F := Z.div_mod (y - x) q ltac:(lia)). rewrite E in F.
      apply (Z.mod_unique_pos y q ((y - x) / q) x); lia.
Qed.

Lemma rest_negative y x : (y < 0)%Z -> (0 <= x)%Z -> rest (y - x) = 0.
Proof.
  intros Y X. unfold rest, many. destruct (_ =? 0)%Z; auto.
  destruct (Z.leb_spec 0 ((y - x) / q)) as [L|L]; auto. exfalso.
  assert (F := Z.div_mod (y - x) q ltac:(lia)).
  assert (B := Z.mod_pos_bound (y - x) q ltac:(lia)). nia.
Qed.

Definition magnitude (k : Z) : R := if (0 <=? k)%Z then weight (k * p) * (1 - weight p) else 0.

Lemma magnitude_rising : rising (draw_magnitude p q).
Proof.
  apply (rising_bind (loop (remainder_body q)) (fun x n => bind (successes 0 n)
    (fun m => Ret ((x + m * q) / p)%Z))); [apply rising_loop, remainder_rising|].
  intros x. apply (rising_bind (successes 0) (fun m _ => Ret ((x + m * q) / p)%Z));
  [apply successes_rising|intros; apply rising_const].
Qed.

Theorem magnitude_law k : law (draw_magnitude p q) (point k) (magnitude k).
Proof.
  set (next := fun (x : Z) (n : nat) => bind (successes 0 n) (fun m => Ret ((x + m * q) / p)%Z)).
  assert (R : forall x, rising (next x)).
  { intros x. apply (rising_bind (successes 0) (fun m _ => Ret ((x + m * q) / p)%Z));
    [apply successes_rising|intros; apply rising_const]. }
  set (g := fun x => over (upto p) (fun i => rest (k * p + i - x))).
  assert (G : forall x, law (next x) (point k) (g x)).
  { intros x.
    apply (law_bind (successes 0) (fun m _ => Ret ((x + m * q) / p)%Z) (point k)
      (fun m => over (upto p) (fun i => point (k * p + i) (x + m * q)))).
    - apply successes_rising.
    - intros; apply rising_const.
    - apply point_positive.
    - intros m. unfold law. cbn [value].
      replace (over (upto p) (fun i => point (k * p + i) (x + m * q)))
        with (point k ((x + m * q) / p)%Z); [apply cv_const|].
      set (z := (x + m * q)%Z). assert (D := Z.div_mod z p ltac:(lia)).
      assert (B := Z.mod_pos_bound z p ltac:(lia)). unfold point.
      rewrite (over_ext _ _ (fun i => if (i =? z mod p)%Z then if (z / p =? k)%Z then 1 else 0 else 0)).
      + rewrite (over_upto_point p (z mod p) (fun _ => if (z / p =? k)%Z then 1 else 0)) by auto.
        reflexivity.
      + intros i I. apply in_upto in I.
        destruct (Z.eqb_spec z (k * p + i)) as [->|N].
        * rewrite Z.div_add_l, (Z.div_small i p), Z.add_0_r, Z.eqb_refl by lia.
          replace ((k * p + i) mod p)%Z with i; [now rewrite Z.eqb_refl|].
          rewrite Z.add_comm, Z.mod_add, Z.mod_small by lia. reflexivity.
        * destruct (Z.eqb_spec i (z mod p)); [|reflexivity].
          destruct (Z.eqb_spec (z / p) k); [|reflexivity]. exfalso. nia.
    - apply (law_over (successes 0) (upto p) (fun i m => point (k * p + i) (x + m * q))
        (fun i => rest (k * p + i - x))). intros i _. apply rest_law. }
  assert (P : positive g) by (intros x; apply (law_positive (next x) (point k));
    auto using point_positive).
  assert (U : forall x, g x <= 1).
  { intros x. apply (law_at_most (next x) (point k)); auto. intros n. apply value_at_most; [lra|].
    apply point_le. }
  assert (L := remainder_law g 1 P U).
  assert (W : 0 < over (upto q) weight) by (apply over_upto_positive; [lia|apply weight_positive]).
  assert (one := weight_one_less).
  assert (F : 0 < fall).
  { unfold fall. assert (exp (- (1)) < 1) by apply exp_minus_one. lra. }
  replace (magnitude k) with (over (upto q) (fun x => weight x * g x) / over (upto q) weight).
  - apply (law_bind (loop (remainder_body q)) next (point k) g);
    auto using rising_loop, remainder_rising, point_positive.
  - unfold g, magnitude.
    rewrite (over_ext (upto q) _ (fun x => over (upto p) (fun i => weight x * rest (k * p + i - x))))
      by (intros; now rewrite over_scale).
    rewrite over_swap. destruct (Z.leb_spec 0 k) as [K|K].
    + rewrite (over_ext (upto p) _ (fun i => fall * weight (k * p + i))).
      * rewrite over_scale, weight_all. fold fall.
        assert (S := weight_sum (k * p) p ltac:(lia)).
        replace (over (upto p) (fun i => weight (k * p + i)))
          with ((weight (k * p) - weight (k * p + p)) / (1 - weight 1)).
        -- rewrite weight_add. field. lra.
        -- rewrite <- S. field. lra.
      * intros i I. apply in_upto in I. rewrite rest_sum by nia. ring.
    + rewrite (over_ext (upto p) _ (fun _ => 0)).
      * rewrite over_zero. unfold Rdiv. ring.
      * intros i I. apply in_upto in I. rewrite (over_ext _ _ (fun _ => 0)); [apply over_zero|].
        intros x X. apply in_upto in X. rewrite rest_negative by nia. ring.
Qed.

(** ** [draw_laplace] *)

Definition signed (b : bool) (m : Z) : option Z :=
  if orb (negb (m =? 0)%Z) (negb b) then Some (if b then - m else m)%Z else None.

Lemma laplace_body_rising : rising (laplace_body p q).
Proof.
  apply (rising_bind (fun _ => draw_bit) (fun b n => bind (draw_magnitude p q n)
    (fun m => Ret (signed b m)))); [apply rising_const|].
  intros b. apply (rising_bind (draw_magnitude p q) (fun m _ => Ret (signed b m)));
  [apply magnitude_rising|intros; apply rising_const].
Qed.

Lemma laplace_body_law f v w : positive f ->
  law (draw_magnitude p q) (fun m => f (signed true m)) v ->
  law (draw_magnitude p q) (fun m => f (signed false m)) w ->
  law (laplace_body p q) f (/ 2 * (v + w)).
Proof.
  intros F V W.
  apply (law_bind (fun _ => draw_bit) (fun b n => bind (draw_magnitude p q n)
    (fun m => Ret (signed b m))) f (fun b : bool => if b then v else w)).
  - apply rising_const.
  - intros b. apply (rising_bind (draw_magnitude p q) (fun m _ => Ret (signed b m)));
    [apply magnitude_rising|intros; apply rising_const].
  - auto.
  - intros b. apply (law_bind (draw_magnitude p q) (fun m _ => Ret (signed b m)) f
      (fun m => f (signed b m))); auto using magnitude_rising.
    + intros; apply rising_const.
    + intros m. apply law_ret.
    + destruct b; auto.
  - replace (/ 2 * (v + w)) with (/ 2 * v + (1 - / 2) * w) by lra.
    apply (proj2 coin_bit (fun b : bool => if b then v else w)).
    intros [|]; [apply (law_positive (draw_magnitude p q) (fun m => f (signed true m)))
      |apply (law_positive (draw_magnitude p q) (fun m => f (signed false m)))]; auto; intros m; apply F.
Qed.

Definition laplace (k : Z) : R := (1 - weight p) / (1 + weight p) * weight (Z.abs k * p).

Theorem laplace_rising : rising (draw_laplace p q).
Proof. apply rising_loop, laplace_body_rising. Qed.

Theorem laplace_law k : law (draw_laplace p q) (point k) (laplace k).
Proof.
  assert (W : weight p < 1) by (apply weight_less; lia). assert (P := weight_positive p).
  assert (S : law (laplace_body p q) (on_some (point k))
    (/ 2 * (weight (Z.abs k * p) * (1 - weight p)))).
  { set (v := if (k =? 0)%Z then 0 else magnitude (- k)).
    replace (weight (Z.abs k * p) * (1 - weight p)) with (v + magnitude k).
    - apply laplace_body_law; [apply on_some_positive, point_positive| |].
      + unfold v. destruct (Z.eqb_spec k 0) as [->|N].
        * apply law_ext with (fun _ => 0); [|apply law_zero]. intros m. unfold signed.
          destruct (Z.eqb_spec m 0); simpl; auto. unfold point.
          destruct (Z.eqb_spec (- m) 0); [lia|reflexivity].
        * apply law_ext with (point (- k)); [|apply magnitude_law]. intros m. unfold signed, point.
          destruct (Z.eqb_spec m 0); simpl; destruct (Z.eqb_spec m (- k)); auto; try lia.
          -- destruct (Z.eqb_spec (- m) k); [reflexivity|lia].
          -- destruct (Z.eqb_spec (- m) k); [lia|reflexivity].
      + apply law_ext with (point k); [|apply magnitude_law]. intros m. unfold signed.
        destruct (m =? 0)%Z; reflexivity.
    - unfold v, magnitude. destruct (Z.eqb_spec k 0) as [->|N]; [simpl; lra|].
      destruct (Z.leb_spec 0 k), (Z.leb_spec 0 (- k)); try lia.
      + rewrite Z.abs_eq by lia. lra.
      + rewrite Z.abs_neq by lia. lra. }
  assert (T : law (laplace_body p q) on_none (/ 2 * (1 - weight p))).
  { replace (1 - weight p) with (magnitude 0 + 0) by (unfold magnitude; simpl; rewrite weight_zero; lra).
    apply laplace_body_law; [apply on_none_positive| |].
    - apply law_ext with (point 0); [|apply magnitude_law]. intros m. unfold signed, point.
      destruct (m =? 0)%Z; reflexivity.
    - apply law_ext with (fun _ => 0); [|apply law_zero]. intros m. unfold signed.
      destruct (m =? 0)%Z; reflexivity. }
  replace (laplace k) with (/ 2 * (weight (Z.abs k * p) * (1 - weight p)) / (1 - / 2 * (1 - weight p))).
  - apply law_loop; auto using laplace_body_rising, point_positive. lra.
  - unfold laplace. field. repeat split; lra.
Qed.

(** It ends with probability one. *)
Lemma laplace_sum (n : nat) :
  laplace 0 + over (seq 1 n) (fun i => laplace (Z.of_nat i) + laplace (- Z.of_nat i))
  = 1 - 2 / (1 + weight p) * weight (Z.of_nat (S n) * p).
Proof.
  assert (P := weight_positive p). induction n as [|n IH].
  - cbn [seq over]. unfold laplace. replace (Z.abs 0 * p)%Z with 0%Z by lia. rewrite weight_zero.
    replace (Z.of_nat 1 * p)%Z with p by lia. field. lra.
  - rewrite seq_S, over_app, <- Rplus_assoc, IH. cbn [over]. unfold laplace.
    rewrite Z.abs_opp, Z.abs_eq by lia. replace (1 + n)%nat with (S n) by lia.
    replace (Z.of_nat (S (S n)) * p)%Z with (Z.of_nat (S n) * p + p)%Z by lia.
    rewrite weight_add. field. lra.
Qed.

Lemma weight_power (n : nat) : weight (Z.of_nat n * p) = (weight p) ^ n.
Proof.
  induction n as [|n IH]; [apply weight_zero|].
  replace (Z.of_nat (S n) * p)%Z with (p + Z.of_nat n * p)%Z by lia. rewrite weight_add, IH.
  reflexivity.
Qed.

Theorem laplace_ends : law (draw_laplace p q) (fun _ => 1) 1.
Proof.
  assert (W : weight p < 1) by (apply weight_less; lia). assert (P := weight_positive p).
  assert (O : positive (fun _ : Z => 1)) by (intros z; lra).
  destruct (law_exists (draw_laplace p q) (fun _ => 1) 1 laplace_rising O) as (v & V & L).
  { intros n. apply value_at_most; intros; lra. }
  cut (v = 1); [intros E; rewrite E in V; exact V|]. apply Rle_antisym; auto.
  destruct (Rle_lt_dec 1 v) as [|N]; auto. exfalso.
  destruct (pow_lt_1_zero (weight p) ltac:(rewrite Rabs_right; lra) ((1 - v) / 2) ltac:(lra)) as [n H].
  specialize (H (S n) ltac:(lia)). rewrite Rabs_right in H by (apply Rle_ge, pow_le; lra).
  set (f := fun z => point 0 z
    + over (seq 1 n) (fun i => point (Z.of_nat i) z + point (- Z.of_nat i) z)).
  assert (F : forall z, f z <= 1).
  { intros z. unfold f. clear H.
    assert (E : point 0 z + over (seq 1 n) (fun i => point (Z.of_nat i) z + point (- Z.of_nat i) z)
      = if (Z.abs z <=? Z.of_nat n)%Z then 1 else 0); [|rewrite E; destruct (_ <=? _)%Z; lra].
    induction n as [|n IH].
    - simpl. unfold point. destruct (Z.eqb_spec z 0), (Z.leb_spec (Z.abs z) 0); try lia; lra.
    - rewrite seq_S, over_app, <- Rplus_assoc, IH. cbn [over]. unfold point.
      replace (1 + n)%nat with (S n) by lia.
      destruct (Z.leb_spec (Z.abs z) (Z.of_nat n)), (Z.leb_spec (Z.abs z) (Z.of_nat (S n))),
        (Z.eqb_spec z (Z.of_nat (S n))), (Z.eqb_spec z (- Z.of_nat (S n))); try lia; lra. }
  assert (S : law (draw_laplace p q) f (1 - 2 / (1 + weight p) * weight (Z.of_nat (S n) * p))).
  { rewrite <- laplace_sum. apply law_add; [apply laplace_law|].
    apply (law_over (draw_laplace p q) (seq 1 n)
      (fun i z => point (Z.of_nat i) z + point (- Z.of_nat i) z)
      (fun i => laplace (Z.of_nat i) + laplace (- Z.of_nat i))).
    intros i _. apply law_add; apply laplace_law. }
  assert (K := law_le _ _ _ _ _ F S V). rewrite weight_power in K.
  assert (D : 2 / (1 + weight p) <= 2).
  { apply (Rmult_le_reg_r (1 + weight p)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (0 <= weight p ^ Datatypes.S n) by (apply pow_le; lra). nra.
Qed.
End Laplace.

(** ** [draw_gaussian] *)

Section Gaussian.
Variable sigma : Z.
Hypothesis sigma_range : (1 <= sigma < word32)%Z.

Let one_range : (1 <= 1 < word32)%Z. Proof. lia. Qed.
Let sr : 0 < IZR sigma. Proof. apply IZR_lt. lia. Qed.

Definition distance (k : Z) : Z :=
  (if sigma <=? Z.abs k then Z.abs k - sigma else sigma - Z.abs k)%Z.
Definition accepted (k : Z) : R :=
  exp (- (IZR (distance k * distance k) / IZR (2 * sigma * sigma))).

Lemma accepted_range k : 0 < accepted k <= 1.
Proof.
  unfold accepted. split; [apply exp_pos|].
  assert (0 <= IZR (distance k * distance k)) by (apply IZR_le; apply Z.square_nonneg).
  assert (D : 0 < IZR (2 * sigma * sigma)) by (apply IZR_lt; nia).
  set (x := IZR (distance k * distance k) / IZR (2 * sigma * sigma)).
  assert (X : 0 <= x) by (apply Rmult_le_pos; auto; left; now apply Rinv_0_lt_compat).
  destruct X as [X| <-]; [|rewrite Ropp_0, exp_0; lra].
  assert (E : exp (- x) < exp 0) by (apply exp_less; lra). rewrite exp_0 in E. lra.
Qed.

Let test (c : Z) (n : nat) : prog (option Z) :=
  let size := (if 0 <=? c then c else - c)%Z in
  let d := (if sigma <=? size then size - sigma else sigma - size)%Z in
  bind (bernoulli_exp (d * d) (2 * sigma * sigma) n) (fun b => Ret (if b then Some c else None)).

Lemma test_coin c : exists d, d = distance c /\ test c = fun n =>
  bind (bernoulli_exp (d * d) (2 * sigma * sigma) n)
    (fun b : bool => Ret (if b then Some c else None)).
Proof.
  exists (distance c). split; auto. unfold test, distance.
  replace (if 0 <=? c then c else - c)%Z with (Z.abs c); [reflexivity|].
  destruct (Z.leb_spec 0 c); lia.
Qed.

Lemma test_rising c : rising (test c).
Proof.
  destruct (test_coin c) as (d & _ & ->).
  apply (rising_bind (bernoulli_exp (d * d) (2 * sigma * sigma))
    (fun (b : bool) _ => Ret (if b then Some c else None))); [|intros; apply rising_const].
  apply exp_rising; [apply Z.square_nonneg|nia].
Qed.

Lemma test_law c f : positive f ->
  law (test c) f (accepted c * f (Some c) + (1 - accepted c) * f None).
Proof.
  intros F. unfold accepted. destruct (test_coin c) as (d & <- & ->).
  assert (C := coin_exp (d * d) (2 * sigma * sigma) ltac:(apply Z.square_nonneg) ltac:(nia)).
  apply (law_bind (bernoulli_exp (d * d) (2 * sigma * sigma))
    (fun (b : bool) _ => Ret (if b then Some c else None)) f
    (fun b : bool => f (if b then Some c else None))); auto.
  - apply C.
  - intros; apply rising_const.
  - intros b. apply law_ret.
  - apply (proj2 C (fun b : bool => f (if b then Some c else None))). intros b. apply F.
Qed.

Lemma gaussian_body_rising : rising (gaussian_body sigma).
Proof.
  apply (rising_bind (draw_laplace 1 sigma) test);
  [now apply laplace_rising|apply test_rising].
Qed.

Lemma gaussian_body_law f v : positive f ->
  law (draw_laplace 1 sigma) (fun c => accepted c * f (Some c) + (1 - accepted c) * f None) v ->
  law (gaussian_body sigma) f v.
Proof.
  intros F V. apply (law_bind (draw_laplace 1 sigma) test f
    (fun c => accepted c * f (Some c) + (1 - accepted c) * f None) v); auto.
  - now apply laplace_rising.
  - apply test_rising.
  - intros c. now apply test_law.
Qed.

Let gauss (k : Z) : R := exp (- (IZR (k * k) / IZR (2 * sigma * sigma))).

(** The product of the two laws is that of the square. *)
Lemma gauss_product k : laplace 1 sigma k * accepted k = laplace 1 sigma 0 * exp (- / 2) * gauss k.
Proof.
  unfold laplace, weight, accepted, gauss. change (Z.abs 0 * 1)%Z with 0%Z.
  rewrite !Rmult_assoc. f_equal. rewrite <- !exp_plus. f_equal.
  assert (D : (distance k * distance k = Z.abs k * Z.abs k - 2 * sigma * Z.abs k + sigma * sigma)%Z)
    by (unfold distance; destruct (Z.leb_spec sigma (Z.abs k)); ring).
  rewrite D. replace (k * k)%Z with (Z.abs k * Z.abs k)%Z by (now rewrite Z.abs_square).
  rewrite Z.mul_1_r, plus_IZR, minus_IZR, !mult_IZR. field. lra.
Qed.

Lemma laplace_positive k : 0 < laplace 1 sigma k.
Proof.
  unfold laplace. assert (W : weight sigma 1 < 1) by (apply weight_less; [auto|lia]).
  assert (P := weight_positive sigma 1).
  repeat apply Rmult_lt_0_compat; try apply weight_positive; try lra.
  apply Rinv_0_lt_compat. lra.
Qed.

Theorem gaussian_rising : rising (draw_gaussian sigma).
Proof. apply rising_loop, gaussian_body_rising. Qed.

(** Each integer comes with a probability proportional to [exp(-k^2 / (2 sigma^2))], and the
    sampler ends with probability one. *)
Theorem gaussian_law_to_a_factor : exists c, 0 < c
  /\ (forall k, law (draw_gaussian sigma) (point k) (c * gauss k))
  /\ law (draw_gaussian sigma) (fun _ => 1) 1.
Proof.
  assert (R : rising (draw_laplace 1 sigma)) by now apply laplace_rising.
  assert (L := laplace_law 1 sigma one_range sigma_range).
  assert (O := laplace_ends 1 sigma one_range sigma_range).
  assert (A := accepted_range).
  destruct (law_exists (draw_laplace 1 sigma) accepted 1 R) as (s & S & _).
  { intros c. left. apply A. }
  { intros n. apply value_at_most; [lra|]. intros. apply A. }
  assert (P : 0 < s).
  { apply Rlt_le_trans with (accepted 0 * laplace 1 sigma 0).
    - apply Rmult_lt_0_compat; [apply A|apply laplace_positive].
    - apply (law_le (draw_laplace 1 sigma) (fun c => accepted 0 * point 0 c) accepted).
      + intros c. unfold point. destruct (Z.eqb_spec c 0) as [->|]; [lra|].
        destruct (A c). lra.
      + apply law_scale, L.
      + exact S. }
  assert (T : law (gaussian_body sigma) on_none (1 - s)).
  { apply gaussian_body_law; [apply on_none_positive|]. simpl.
    apply law_ext with (fun c => 1 + (-1) * accepted c); [intros; lra|].
    replace (1 - s) with (1 + (-1) * s) by lra.
    apply (law_add (draw_laplace 1 sigma) (fun _ => 1) (fun c => -1 * accepted c)); auto.
    apply (law_scale (draw_laplace 1 sigma) (-1) accepted). exact S. }
  exists (laplace 1 sigma 0 * exp (- / 2) / s). split; [|split].
  - apply Rdiv_lt_0_compat; auto. apply Rmult_lt_0_compat; [apply laplace_positive|apply exp_pos].
  - intros k.
    replace (laplace 1 sigma 0 * exp (- / 2) / s * gauss k)
      with (accepted k * laplace 1 sigma k / (1 - (1 - s))).
    + apply law_loop; auto using gaussian_body_rising, point_positive; [|lra].
      apply gaussian_body_law; [apply on_some_positive, point_positive|]. simpl.
      apply law_ext with (fun c => accepted k * point k c); [|apply law_scale, L].
      intros c. unfold point. destruct (Z.eqb_spec c k) as [->|]; lra.
    + rewrite (Rmult_comm (accepted k)), gauss_product. field. lra.
  - replace 1 with (s / (1 - (1 - s))) at 1 by (field; lra).
    apply law_loop; auto using gaussian_body_rising; [intros z; lra| |lra].
    apply gaussian_body_law; [apply on_some_positive; intros z; lra|]. simpl.
    apply law_ext with accepted; [intros; lra|exact S].
Qed.

(** A program that ends has finitely many outcomes. *)
Lemma bounded_support (t : prog Z) : exists n : nat, forall f g,
  (forall z, (Z.abs z <= Z.of_nat n)%Z -> f z = g z) -> value t f = value t g.
Proof.
  induction t as [a|n k IH|].
  - exists (Z.abs_nat a). intros f g E. apply E. lia.
  - assert (B : forall l : list Z, exists m : nat, forall z, In z l -> forall f g,
      (forall y, (Z.abs y <= Z.of_nat m)%Z -> f y = g y) -> value (k z) f = value (k z) g).
    { induction l as [|z l [m M]]; [exists 0%nat; intros ? []|].
      destruct (IH z) as [i I]. exists (max i m). intros y [<-|J] f g E.
      - apply I. intros x X. apply E. lia.
      - apply (M y J). intros x X. apply E. lia. }
    destruct (B (upto n)) as [m M]. exists m. intros f g E. simpl. apply mean_ext.
    intros z Z. apply M; auto. now apply in_upto.
  - exists 0%nat. reflexivity.
Qed.

(** All integers up to a size. *)
Definition within (n : nat) (f : Z -> R) : R :=
  f 0%Z + over (seq 1 n) (fun i => f (Z.of_nat i) + f (- Z.of_nat i)%Z).

Lemma within_point n z : within n (fun k => point k z)
  = if (Z.abs z <=? Z.of_nat n)%Z then 1 else 0.
Proof.
  unfold within. induction n as [|n IH].
  - simpl. unfold point. destruct (Z.eqb_spec z 0), (Z.leb_spec (Z.abs z) 0); try lia; lra.
  - rewrite seq_S, over_app, <- Rplus_assoc, IH. cbn [over]. unfold point.
    replace (1 + n)%nat with (S n) by lia.
    destruct (Z.leb_spec (Z.abs z) (Z.of_nat n)), (Z.leb_spec (Z.abs z) (Z.of_nat (S n))),
      (Z.eqb_spec z (Z.of_nat (S n))), (Z.eqb_spec z (- Z.of_nat (S n))); try lia; lra.
Qed.

(** The probabilities of a sampler that ends add up to one. *)
Theorem probabilities_add_up (s : nat -> prog Z) v : rising s -> law s (fun _ => 1) 1 ->
  (forall k, law s (point k) (v k)) -> Un_cv (fun n => within n v) 1.
Proof.
  intros R O V e E. destruct (O e E) as [m M]. specialize (M m (le_n m)).
  destruct (bounded_support (s m)) as [n N]. exists n. intros i I.
  assert (L : law s (fun z => within i (fun k => point k z)) (within i v)).
  { unfold within. apply law_add; [apply V|].
    apply (law_over s (seq 1 i) (fun j z => point (Z.of_nat j) z + point (- Z.of_nat j) z)
      (fun j => v (Z.of_nat j) + v (- Z.of_nat j)%Z)).
    intros j _. apply law_add; apply V. }
  assert (U : within i v <= 1).
  { apply (law_le s (fun z => within i (fun k => point k z)) (fun _ => 1)); auto.
    intros z. rewrite within_point. destruct (_ <=? _)%Z; lra. }
  assert (K : value (s m) (fun z => within i (fun k => point k z)) <= within i v).
  { apply law_above; auto. intros z. rewrite within_point. destruct (_ <=? _)%Z; lra. }
  rewrite (N (fun z => within i (fun k => point k z)) (fun _ => 1)) in K.
  - unfold R_dist in *. apply Rabs_def2 in M. apply Rabs_def1; lra.
  - intros z Z. rewrite within_point. destruct (Z.leb_spec (Z.abs z) (Z.of_nat i)); [reflexivity|lia].
Qed.

(** The discrete Gaussian, normalised. *)
Theorem gaussian_law : exists c, 0 < c
  /\ (forall k, law (draw_gaussian sigma) (point k) (c * gauss k))
  /\ Un_cv (fun n => within n (fun k => c * gauss k)) 1.
Proof.
  destruct gaussian_law_to_a_factor as (c & C & L & O). exists c. split; [|split]; auto.
  apply (probabilities_add_up (draw_gaussian sigma)); auto using gaussian_rising.
Qed.
End Gaussian.
