(** Programs that consume random bits, and their laws.

    A program is a finite tree: it returns, picks a uniform number below [n] and goes on, or is
    [Stuck] because its fuel ran out. A sampler is such a program for every amount of fuel; its law
    is the limit over the fuel. Extracted to OCaml it runs with fuel without end. *)
From Coq Require Import Reals ZArith List Lra Lia.
From DPBoost Require Import Laws.
Import ListNotations.
Open Scope R_scope.

Inductive prog (A : Type) : Type :=
| Ret (a : A)
| Pick (n : Z) (k : Z -> prog A)
| Stuck.
Arguments Ret {A}. Arguments Pick {A}. Arguments Stuck {A}.

Fixpoint bind {A B} (p : prog A) (k : A -> prog B) : prog B :=
  match p with
  | Ret a => k a
  | Pick n g => Pick n (fun z => bind (g z) k)
  | Stuck => Stuck
  end.

(** ** Uniform numbers *)

Definition upto (n : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat n)).
Definition mean (n : Z) (f : Z -> R) : R := / IZR n * over (upto n) f.

Lemma in_upto n z : In z (upto n) <-> (0 <= z < n)%Z.
Proof.
  unfold upto. rewrite in_map_iff. split.
  - intros (k & <- & I). apply in_seq in I. lia.
  - intros L. exists (Z.to_nat z). split; [lia|]. apply in_seq. lia.
Qed.

Lemma upto_succ n : (0 <= n)%Z -> upto (n + 1) = upto n ++ [n].
Proof.
  intros N. unfold upto. replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia.
  rewrite seq_S, map_app. simpl. now rewrite Z2Nat.id.
Qed.

Lemma upto_zero : upto 0 = [].
Proof. reflexivity. Qed.

Lemma upto_ind (P : Z -> Prop) : P 0%Z -> (forall n, (0 <= n)%Z -> P n -> P (n + 1)%Z) ->
  forall n, (0 <= n)%Z -> P n.
Proof. intros O S. apply natlike_ind; auto. Qed.

Lemma over_upto_const n c : (0 <= n)%Z -> over (upto n) (fun _ => c) = IZR n * c.
Proof.
  revert n. apply upto_ind; [simpl; lra|]. intros n N E.
  rewrite upto_succ, over_app, E by auto. simpl. rewrite plus_IZR. lra.
Qed.

Lemma mean_const n c : (0 < n)%Z -> mean n (fun _ => c) = c.
Proof.
  intros N. unfold mean. rewrite over_upto_const by lia. field. apply not_0_IZR. lia.
Qed.

Lemma mean_two f : mean 2 f = / 2 * (f 0%Z + f 1%Z).
Proof. unfold mean. change (upto 2) with [0%Z; 1%Z]. simpl. lra. Qed.

(** How many numbers below [n] lie from [a] to [b]. *)
Lemma over_upto_interval n a b c : (0 <= a <= b)%Z -> (b <= n)%Z ->
  over (upto n) (fun z => if andb (a <=? z)%Z (z <? b)%Z then c else 0) = IZR (b - a) * c.
Proof.
  intros A B. assert (N : (0 <= n)%Z) by lia. revert n N a b A B.
  apply (upto_ind (fun n => forall a b, (0 <= a <= b)%Z -> (b <= n)%Z ->
    over (upto n) (fun z => if andb (a <=? z)%Z (z <? b)%Z then c else 0) = IZR (b - a) * c)).
  - intros a b A B. replace (b - a)%Z with 0%Z by lia. simpl. lra.
  - intros n N IH a b A B. rewrite upto_succ, over_app by auto. simpl.
    destruct (Z.eq_dec b (n + 1)) as [->|D].
    + destruct (Z.eq_dec a (n + 1)) as [->|E].
      * rewrite (over_ext _ _ (fun _ => 0)).
        -- rewrite over_zero. replace (n + 1 - (n + 1))%Z with 0%Z by lia.
           destruct (Z.leb_spec (n + 1) n); [lia|]. simpl. lra.
        -- intros z I. apply in_upto in I. destruct (Z.leb_spec (n + 1) z); [lia|reflexivity].
      * rewrite (over_ext _ _ (fun z => if andb (a <=? z)%Z (z <? n)%Z then c else 0)).
        -- rewrite IH by lia. destruct (Z.leb_spec a n); [|lia].
           destruct (Z.ltb_spec n (n + 1)); [|lia]. simpl.
           replace (n + 1 - a)%Z with (n - a + 1)%Z by lia. rewrite plus_IZR. lra.
        -- intros z I. apply in_upto in I.
           destruct (Z.ltb_spec z (n + 1)), (Z.ltb_spec z n); try lia; reflexivity.
    + rewrite IH by lia. destruct (Z.ltb_spec n b); [lia|]. rewrite Bool.andb_false_r. lra.
Qed.

(** ** The law of a program *)

Fixpoint value {A} (p : prog A) (f : A -> R) : R :=
  match p with
  | Ret a => f a
  | Pick n k => mean n (fun z => value (k z) f)
  | Stuck => 0
  end.

Definition positive {A} (f : A -> R) : Prop := forall a, 0 <= f a.

Lemma mean_le n f g : (forall z, f z <= g z) -> mean n f <= mean n g.
Proof.
  intros L. unfold mean. destruct (Z.le_gt_cases n 0) as [N|N].
  - assert (E : upto n = []) by (unfold upto; replace (Z.to_nat n) with 0%nat by lia; reflexivity).
    rewrite E. simpl. lra.
  - apply Rmult_le_compat_l; [|apply over_le; auto]. left. apply Rinv_0_lt_compat.
    now apply IZR_lt.
Qed.

Lemma mean_ext n f g : (forall z, (0 <= z < n)%Z -> f z = g z) -> mean n f = mean n g.
Proof. intros E. unfold mean. f_equal. apply over_ext. intros z I. apply E. now apply in_upto. Qed.

Lemma mean_add n f g : mean n (fun z => f z + g z) = mean n f + mean n g.
Proof. unfold mean. rewrite over_add. lra. Qed.

Lemma mean_scale n c f : mean n (fun z => c * f z) = c * mean n f.
Proof. unfold mean. rewrite over_scale. lra. Qed.

Lemma value_ext {A} (p : prog A) f g : (forall a, f a = g a) -> value p f = value p g.
Proof.
  intros E. induction p; simpl; auto. apply mean_ext. auto.
Qed.

Lemma value_le {A} (p : prog A) f g : (forall a, f a <= g a) -> value p f <= value p g.
Proof. intros L. induction p; simpl; auto; [|lra]. apply mean_le. auto. Qed.

Lemma value_add {A} (p : prog A) f g : value p (fun a => f a + g a) = value p f + value p g.
Proof.
  induction p; simpl; try lra. rewrite <- mean_add. apply mean_ext. auto.
Qed.

Lemma value_scale {A} (p : prog A) c f : value p (fun a => c * f a) = c * value p f.
Proof. induction p; simpl; try lra. rewrite <- mean_scale. apply mean_ext. auto. Qed.

Lemma value_zero {A} (p : prog A) : value p (fun _ => 0) = 0.
Proof.
  rewrite (value_ext p _ (fun _ => 0 * 0)) by (intros; lra). rewrite value_scale. lra.
Qed.

Lemma value_positive {A} (p : prog A) f : positive f -> 0 <= value p f.
Proof. intros P. rewrite <- (value_zero p). now apply value_le. Qed.

Lemma value_bind {A B} (p : prog A) (k : A -> prog B) f :
  value (bind p k) f = value p (fun a => value (k a) f).
Proof. induction p; simpl; auto. apply mean_ext. auto. Qed.

(** ** Limits *)

Lemma cv_const c : Un_cv (fun _ => c) c.
Proof. intros e E. exists 0%nat. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto. Qed.

Lemma cv_ext u v l : (forall n, u n = v n) -> Un_cv u l -> Un_cv v l.
Proof. intros E C e P. destruct (C e P) as [N H]. exists N. intros. rewrite <- E. auto. Qed.

Lemma cv_shift u l : Un_cv (fun n => u (S n)) l -> Un_cv u l.
Proof.
  intros C e P. destruct (C e P) as [N H]. exists (S N). intros n L.
  destruct n; [lia|]. apply H. lia.
Qed.

Lemma cv_shifted u l : Un_cv u l -> Un_cv (fun n => u (S n)) l.
Proof. intros C e P. destruct (C e P) as [N H]. exists N. intros. apply H. lia. Qed.

Lemma cv_scale c u l : Un_cv u l -> Un_cv (fun n => c * u n) (c * l).
Proof. intros C. apply CV_mult; auto using cv_const. Qed.

Lemma cv_over {A} (l : list A) u v : (forall a, In a l -> Un_cv (fun n => u n a) (v a)) ->
  Un_cv (fun n => over l (u n)) (over l v).
Proof.
  induction l as [|a l IH]; simpl; intros C; [apply cv_const|].
  apply CV_plus; auto.
Qed.

Lemma cv_value {A} (p : prog A) u f : (forall a, Un_cv (fun n => u n a) (f a)) ->
  Un_cv (fun n => value p (u n)) (value p f).
Proof.
  intros C. induction p; simpl; auto; [|apply cv_const].
  unfold mean. apply cv_scale. apply (cv_over (upto n) (fun m z => value (k z) (u m))).
  auto.
Qed.

(** More fuel gives no outcome less. *)
Definition rising {A} (p : nat -> prog A) : Prop :=
  forall n f, positive f -> value (p n) f <= value (p (S n)) f.

(** The law of a sampler: what the mean of [f] over its outcomes comes to. *)
Definition law {A} (p : nat -> prog A) (f : A -> R) (v : R) : Prop :=
  Un_cv (fun n => value (p n) f) v.

Lemma rising_le {A} (p : nat -> prog A) m n f : rising p -> positive f -> (m <= n)%nat ->
  value (p m) f <= value (p n) f.
Proof.
  intros R P L. induction L; [lra|]. apply Rle_trans with (value (p m0) f); auto.
Qed.

Lemma law_above {A} (p : nat -> prog A) f v n : rising p -> positive f -> law p f v ->
  value (p n) f <= v.
Proof.
  intros R P L. apply (growing_ineq (fun n => value (p n) f)); auto. intros m. now apply R.
Qed.

Lemma law_unique {A} (p : nat -> prog A) f v w : law p f v -> law p f w -> v = w.
Proof. apply UL_sequence. Qed.

Lemma law_positive {A} (p : nat -> prog A) f v : positive f -> law p f v -> 0 <= v.
Proof.
  intros P L. destruct (Rle_lt_dec 0 v) as [|N]; auto.
  destruct (L (- v)) as [m H]; [lra|]. specialize (H m (le_n m)). unfold R_dist in H.
  assert (Q := value_positive (p m) f P). apply Rabs_def2 in H. lra.
Qed.

Lemma law_le {A} (p : nat -> prog A) f g v w : (forall a, f a <= g a) -> law p f v -> law p g w ->
  v <= w.
Proof.
  intros L F G. destruct (Rle_lt_dec v w) as [|N]; auto. exfalso.
  destruct (F ((v - w) / 2)) as [m H]; [lra|]. destruct (G ((v - w) / 2)) as [n K]; [lra|].
  specialize (H (max m n) (Nat.le_max_l m n)). specialize (K (max m n) (Nat.le_max_r m n)).
  unfold R_dist in *. apply Rabs_def2 in H, K.
  assert (X := value_le (p (max m n)) f g L). lra.
Qed.

Lemma law_ext {A} (p : nat -> prog A) f g v : (forall a, f a = g a) -> law p f v -> law p g v.
Proof. intros E. apply cv_ext. intros. now apply value_ext. Qed.

Lemma law_add {A} (p : nat -> prog A) f g v w : law p f v -> law p g w ->
  law p (fun a => f a + g a) (v + w).
Proof.
  intros F G. unfold law. apply cv_ext with (fun n => value (p n) f + value (p n) g).
  - intros. now rewrite value_add.
  - now apply CV_plus.
Qed.

Lemma law_scale {A} (p : nat -> prog A) c f v : law p f v -> law p (fun a => c * f a) (c * v).
Proof.
  intros F. unfold law. apply cv_ext with (fun n => c * value (p n) f).
  - intros. now rewrite value_scale.
  - now apply cv_scale.
Qed.

Lemma law_zero {A} (p : nat -> prog A) : law p (fun _ => 0) 0.
Proof. unfold law. apply cv_ext with (fun _ => 0); [intros; now rewrite value_zero|apply cv_const]. Qed.

Lemma law_over {A B} (p : nat -> prog A) (l : list B) f v :
  (forall b, In b l -> law p (f b) (v b)) -> law p (fun a => over l (fun b => f b a)) (over l v).
Proof.
  induction l as [|b l IH]; simpl; intros H; [apply law_zero|]. apply law_add; auto.
Qed.

(** A limit exists. *)
Lemma law_exists {A} (p : nat -> prog A) f m : rising p -> positive f ->
  (forall n, value (p n) f <= m) -> { v | law p f v /\ v <= m }.
Proof.
  intros R P B. destruct (growing_cv (fun n => value (p n) f)) as [v V].
  - intros n. now apply R.
  - exists m. intros x [n ->]. apply B.
  - exists v. split; auto. destruct (Rle_lt_dec v m) as [|N]; auto. exfalso.
    destruct (V (v - m)) as [n H]; [lra|]. specialize (H n (le_n n)). unfold R_dist in H.
    apply Rabs_def2 in H. specialize (B n). lra.
Qed.

Lemma value_at_most {A} (p : prog A) f m : 0 <= m -> (forall a, f a <= m) -> value p f <= m.
Proof.
  intros M L. induction p; simpl; auto.
  destruct (Z.le_gt_cases n 0) as [N|N].
  - unfold mean. assert (E : upto n = [])
      by (unfold upto; replace (Z.to_nat n) with 0%nat by lia; reflexivity).
    rewrite E. simpl. lra.
  - rewrite <- (mean_const n m) by lia. now apply mean_le.
Qed.

(** *** Programs in sequence *)

Lemma rising_const {A} (p : prog A) : rising (fun _ => p).
Proof. intros n f _. lra. Qed.

Lemma rising_bind {A B} (p : nat -> prog A) (k : A -> nat -> prog B) :
  rising p -> (forall a, rising (k a)) -> rising (fun n => bind (p n) (fun a => k a n)).
Proof.
  intros P K n f F. rewrite !value_bind.
  apply Rle_trans with (value (p n) (fun a => value (k a (S n)) f)).
  - apply value_le. intros. now apply K.
  - apply P. intros a. now apply value_positive.
Qed.

Theorem law_bind {A B} (p : nat -> prog A) (k : A -> nat -> prog B) f g v :
  rising p -> (forall a, rising (k a)) -> positive f ->
  (forall a, law (k a) f (g a)) -> law p g v ->
  law (fun n => bind (p n) (fun a => k a n)) f v.
Proof.
  intros P K F G V e E.
  assert (GP : positive g) by (intros a; apply (law_positive (k a) f); auto).
  destruct (V (e / 2)) as [m M]; [lra|]. specialize (M m (le_n m)). unfold R_dist in M.
  assert (C := cv_value (p m) (fun n a => value (k a n) f) g G).
  destruct (C (e / 2)) as [N H]; [lra|].
  exists (max m N). intros n L. unfold R_dist. rewrite value_bind.
  assert (U : value (p n) (fun a => value (k a n) f) <= v).
  { apply Rle_trans with (value (p n) g).
    - apply value_le. intros a. apply law_above; auto.
    - apply law_above; auto. }
  specialize (H n ltac:(lia)). unfold R_dist in H. apply Rabs_def2 in H, M.
  assert (W : value (p m) (fun a => value (k a n) f) <= value (p n) (fun a => value (k a n) f)).
  { apply rising_le; auto; [|lia]. intros a. now apply value_positive. }
  apply Rabs_def1; lra.
Qed.

Lemma law_ret {A} (a : A) f : law (fun _ => Ret a) f (f a).
Proof. exact (cv_const (f a)). Qed.

Lemma law_pick {A} n (k : Z -> nat -> prog A) f g : (forall z, law (k z) f (g z)) ->
  law (fun m => Pick n (fun z => k z m)) f (mean n g).
Proof.
  intros G. unfold law. simpl. unfold mean. apply cv_scale.
  apply (cv_over (upto n) (fun m z => value (k z m) f)). intros z _. apply G.
Qed.

Lemma rising_pick {A} n (k : Z -> nat -> prog A) : (forall z, rising (k z)) ->
  rising (fun m => Pick n (fun z => k z m)).
Proof. intros K m f F. simpl. apply mean_le. intros. now apply K. Qed.

(** *** Trials until one succeeds *)

Fixpoint loop {A} (body : nat -> prog (option A)) (fuel : nat) : prog A :=
  match fuel with
  | O => Stuck
  | S n => bind (body n) (fun o => match o with Some a => Ret a | None => loop body n end)
  end.

Definition on_some {A} (f : A -> R) (o : option A) : R :=
  match o with Some a => f a | None => 0 end.
Definition on_none {A} (o : option A) : R := match o with Some _ => 0 | None => 1 end.

Lemma on_some_positive {A} (f : A -> R) : positive f -> positive (on_some f).
Proof. intros P [a|]; simpl; auto. lra. Qed.

Lemma on_none_positive {A} : positive (@on_none A).
Proof. intros [a|]; simpl; lra. Qed.

Lemma rising_loop {A} (body : nat -> prog (option A)) : rising body -> rising (loop body).
Proof.
  intros B. intros n. induction n as [|n IH]; intros f F.
  - change (value (loop body 0) f) with 0. now apply value_positive.
  - change (value (bind (body n) (fun o => match o with Some a => Ret a | None => loop body n end)) f
      <= value (bind (body (S n)) (fun o => match o with Some a => Ret a | None => loop body (S n) end)) f).
    rewrite !value_bind.
    apply Rle_trans with (value (body n)
      (fun o => value (match o with Some a => Ret a | None => loop body (S n) end) f)).
    + apply value_le. intros [a|]; [simpl; lra|auto].
    + apply B. intros [a|]; now apply value_positive.
Qed.

Theorem law_loop {A} (body : nat -> prog (option A)) f s t :
  rising body -> positive f -> law body (on_some f) s -> law body on_none t -> t < 1 ->
  law (loop body) f (s / (1 - t)).
Proof.
  intros R F S T L.
  assert (E : forall n, value (loop body (Datatypes.S n)) f
    = value (body n) (on_some f) + value (body n) on_none * value (loop body n) f).
  { intros n. simpl. rewrite value_bind, Rmult_comm, <- value_scale, <- value_add.
    apply value_ext. intros [a|]; simpl; lra. }
  assert (SP : 0 <= s) by (apply (law_positive body (on_some f)); auto using on_some_positive).
  assert (TP : 0 <= t) by (apply (law_positive body on_none); auto using @on_none_positive).
  assert (D : 0 < 1 - t) by lra.
  assert (M : 0 <= s / (1 - t)) by (apply Rmult_le_pos; auto; left; now apply Rinv_0_lt_compat).
  assert (X : s + t * (s / (1 - t)) = s / (1 - t)) by (field; lra).
  assert (B : forall n, value (loop body n) f <= s / (1 - t)).
  { induction n as [|n IH]; [simpl; auto|]. rewrite E, <- X.
    assert (value (body n) (on_some f) <= s) by (apply law_above; auto using on_some_positive).
    assert (value (body n) on_none <= t) by (apply law_above; auto using @on_none_positive).
    assert (0 <= value (body n) on_none) by (apply value_positive, on_none_positive).
    assert (0 <= value (loop body n) f) by now apply value_positive.
    apply Rplus_le_compat; auto. apply Rmult_le_compat; auto. }
  destruct (law_exists (loop body) f _ (rising_loop body R) F B) as (v & V & _).
  replace (s / (1 - t)) with v; auto.
  assert (W : v = s + t * v).
  { apply (law_unique (loop body) f); auto. apply cv_shift.
    apply cv_ext with (fun n => value (body n) (on_some f)
      + value (body n) on_none * value (loop body n) f); [intros; now rewrite E|].
    apply CV_plus; auto. now apply CV_mult. }
  apply (Rmult_eq_reg_r (1 - t)); [|lra]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** *** Coins *)

Definition coin (p : nat -> prog bool) (c : R) : Prop :=
  rising p /\ forall f, positive f -> law p f (c * f true + (1 - c) * f false).

Lemma coin_ret b : coin (fun _ => Ret b) (if b then 1 else 0).
Proof.
  split; [apply rising_const|]. intros f _. destruct b.
  - replace (1 * f true + (1 - 1) * f false) with (f true) by lra. apply law_ret.
  - replace (0 * f true + (1 - 0) * f false) with (f false) by lra. apply law_ret.
Qed.

Lemma coin_shift p c : rising p -> coin (fun n => p (S n)) c -> coin p c.
Proof. intros R [_ L]. split; auto. intros f F. apply cv_shift. now apply L. Qed.

(** One coin, and then another one. *)
Lemma coin_and p q c d : coin p c -> coin q d ->
  coin (fun n => bind (p n) (fun b : bool => if b then q n else Ret false)) (c * d).
Proof.
  intros [RP P] [RQ Q].
  assert (K : forall b : bool, rising (fun n => if b then q n else Ret false))
    by (intros [|]; auto using @rising_const).
  split; [apply (rising_bind p (fun b n => if b then q n else Ret false)); auto|].
  intros f F.
  apply (law_bind p (fun (b : bool) n => if b then q n else Ret false) f
    (fun b : bool => if b then d * f true + (1 - d) * f false else f false)); auto.
  - intros [|]; [now apply Q|apply law_ret].
  - replace (c * d * f true + (1 - c * d) * f false)
      with (c * (d * f true + (1 - d) * f false) + (1 - c) * f false) by ring.
    apply (P (fun b : bool => if b then d * f true + (1 - d) * f false else f false)).
    intros [|]; auto. apply (law_positive q f); auto.
Qed.
