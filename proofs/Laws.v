(** Laws over finite outcomes, pure differential privacy and Renyi moments.

    Released words have 64 bits, and an array has finitely many of them: outcomes are finite. *)
From Coq Require Import Reals List Lra Lia Bool.
From DPBoost Require Import Powers.
Import ListNotations.
Open Scope R_scope.

(** ** Sums over a list *)

Fixpoint over {A} (l : list A) (f : A -> R) : R :=
  match l with [] => 0 | a :: l => f a + over l f end.

Lemma over_ext {A} (l : list A) f g : (forall a, In a l -> f a = g a) -> over l f = over l g.
Proof. induction l; simpl; intros E; auto. rewrite IHl, E; auto. Qed.

Lemma over_le {A} (l : list A) f g : (forall a, In a l -> f a <= g a) -> over l f <= over l g.
Proof.
  induction l; simpl; intros L; [lra|]. apply Rplus_le_compat; auto.
Qed.

Lemma over_nonneg {A} (l : list A) f : (forall a, In a l -> 0 <= f a) -> 0 <= over l f.
Proof.
  induction l; simpl; intros P; [lra|].
  assert (0 <= f a) by auto. assert (0 <= over l f) by auto. lra.
Qed.

Lemma over_scale {A} (l : list A) c f : over l (fun a => c * f a) = c * over l f.
Proof. induction l; simpl; [lra|]. rewrite IHl. lra. Qed.

Lemma over_add {A} (l : list A) f g : over l (fun a => f a + g a) = over l f + over l g.
Proof. induction l; simpl; [lra|]. rewrite IHl. lra. Qed.

Lemma over_zero {A} (l : list A) : over l (fun _ => 0) = 0.
Proof. induction l; simpl; lra. Qed.

Lemma over_app {A} (l m : list A) f : over (l ++ m) f = over l f + over m f.
Proof. induction l; simpl; lra. Qed.

Lemma over_map {A B} (g : A -> B) l f : over (map g l) f = over l (fun a => f (g a)).
Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

Lemma over_flat_map {A B} (g : A -> list B) l f :
  over (flat_map g l) f = over l (fun a => over (g a) f).
Proof. induction l; simpl; [lra|]. rewrite over_app, IHl. lra. Qed.

Lemma over_swap {A B} (l : list A) (m : list B) f :
  over l (fun a => over m (f a)) = over m (fun b => over l (fun a => f a b)).
Proof.
  induction l; simpl; [now rewrite over_zero|]. rewrite IHl, over_add. reflexivity.
Qed.

Lemma over_filter {A} (l : list A) s f :
  over (filter s l) f = over l (fun a => if s a then f a else 0).
Proof. induction l; simpl; [lra|]. destruct (s a); simpl; rewrite IHl; lra. Qed.

(** ** Pure privacy *)

Definition close {A} (e : R) (p q : A -> R) : Prop := forall x, p x <= exp e * q x.

(** ** Renyi moments

    The term of an outcome in the moment of order [a]: [p^a q^(1 - a)], zero where [p] is zero. *)
Definition term (a p q : R) : R := p * power (p / q) (a - 1).

(** [q] is zero where... nowhere that [p] is not. *)
Definition covered (p q : R) : Prop := 0 <= p /\ 0 <= q /\ (q = 0 -> p = 0).

(** zCDP of two laws over some outcomes: for every order, one way; neighbours are symmetric. *)
Definition concentrated {A} (outcomes : list A) (rho : R) (p q : A -> R) : Prop :=
  forall a, 1 < a -> over outcomes (fun x => term a (p x) (q x)) <= exp (a * (a - 1) * rho).

Lemma term_nonneg a p q : 0 <= p -> 0 <= term a p q.
Proof. intros. apply Rmult_le_pos; auto. left. apply power_positive. Qed.

Lemma term_zero a q : term a 0 q = 0.
Proof. unfold term. lra. Qed.

Lemma term_same a p : 0 <= p -> term a p p = p.
Proof.
  intros [P| <-]; [|apply term_zero]. unfold term.
  replace (p / p) with 1 by (field; lra). unfold power. rewrite log_one, Rmult_0_r, exp_0. lra.
Qed.

Lemma covered_positive p q : covered p q -> 0 < p -> 0 < q.
Proof. intros (P & [Q|Q] & C) L; auto. rewrite C in L by auto. lra. Qed.

Lemma covered_mult p q f g : covered p q -> covered f g -> covered (p * f) (q * g).
Proof.
  intros (P & Q & C) (F & G & D). repeat split; try now apply Rmult_le_pos.
  intros E. apply Rmult_integral in E as [E|E]; [rewrite C|rewrite D]; auto; lra.
Qed.

Lemma term_mult a p q f g : covered p q -> covered f g ->
  term a (p * f) (q * g) = term a p q * term a f g.
Proof.
  intros C D. destruct (proj1 C) as [P| <-]; [|rewrite Rmult_0_l, !term_zero; lra].
  destruct (proj1 D) as [F| <-]; [|rewrite Rmult_0_r, !term_zero; lra].
  assert (Q := covered_positive _ _ C P). assert (G := covered_positive _ _ D F). unfold term.
  replace (p * f / (q * g)) with ((p / q) * (f / g)) by (field; lra).
  rewrite <- power_mult; [ring| |]; apply Rdiv_lt_0_compat; auto.
Qed.

(** Bernoulli's inequality for real exponents. *)
Lemma bernoulli x a : 0 < x -> 1 <= a -> 1 + a * (x - 1) <= power x a.
Proof.
  intros X A. unfold power. set (y := log x). assert (E : exp y = x) by now apply exp_log.
  rewrite <- E. replace (a * y) with (y + (a - 1) * y) by ring. rewrite exp_plus.
  assert (T := exp_above ((a - 1) * y)).
  assert (U : 1 - y <= exp (- y)) by (assert (E' := exp_above (- y)); lra).
  assert (V : exp y * exp (- y) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (P := exp_pos y).
  assert (exp y * (1 + (a - 1) * y) <= exp y * exp ((a - 1) * y)) by (apply Rmult_le_compat_l; lra).
  assert (exp y * (1 - y) <= 1) by (rewrite <- V; apply Rmult_le_compat_l; lra).
  nra.
Qed.

(** The term lies above its tangents. *)
Lemma tangent a t p q : 1 < a -> 0 < t -> covered p q ->
  a * power t (a - 1) * p - (a - 1) * (t * power t (a - 1)) * q <= term a p q.
Proof.
  intros A T C. assert (W := power_positive t (a - 1)). set (w := power t (a - 1)) in *.
  destruct (proj1 C) as [P| <-].
  - assert (Q := covered_positive _ _ C P). unfold term.
    set (x := p / q / t). assert (X : 0 < x) by (unfold x; repeat apply Rdiv_lt_0_compat; auto).
    assert (E : p = q * (t * x)) by (unfold x; field; lra).
    assert (B := bernoulli x a X ltac:(lra)).
    replace (p / q) with (t * x) by (unfold x; field; lra).
    rewrite <- power_mult by auto. fold w.
    replace a with ((a - 1) + 1) in B at 2 by ring. rewrite power_plus, power_one in B by auto.
    set (v := power x (a - 1)) in *. rewrite E.
    replace (q * (t * x) * (w * v)) with (q * t * w * (v * x)) by ring.
    replace (a * w * (q * (t * x)) - (a - 1) * (t * w) * q)
      with (q * t * w * (1 + a * (x - 1))) by ring.
    apply Rmult_le_compat_l; auto. repeat apply Rmult_le_pos; lra.
  - rewrite term_zero. destruct C as (_ & Q & _).
    assert (0 <= (a - 1) * (t * w) * q) by (repeat apply Rmult_le_pos; lra). lra.
Qed.

Lemma covered_over {A} (l : list A) p q : (forall x, In x l -> covered (p x) (q x)) ->
  covered (over l p) (over l q).
Proof.
  induction l as [|x l IH]; simpl; intros C; [repeat split; lra|].
  destruct (C x) as (P & Q & Z); auto. destruct IH as (P' & Q' & Z'); auto.
  split; [lra|split; [lra|]]. intros E. rewrite Z, Z'; lra.
Qed.

(** Adding outcomes up, or mixing laws, does not raise a moment. *)
Theorem term_over {A} a (l : list A) p q : 1 < a ->
  (forall x, In x l -> covered (p x) (q x)) ->
  term a (over l p) (over l q) <= over l (fun x => term a (p x) (q x)).
Proof.
  intros H C. assert (D := covered_over l p q C). destruct (proj1 D) as [P|P].
  - assert (Q := covered_positive _ _ D P). set (t := over l p / over l q).
    assert (T : 0 < t) by (unfold t; apply Rdiv_lt_0_compat; auto).
    apply Rle_trans with (over l (fun x =>
      a * power t (a - 1) * p x + - ((a - 1) * (t * power t (a - 1))) * q x)).
    + rewrite over_add, !over_scale. unfold term. fold t.
      replace (over l p) with (t * over l q) at 1 2 by (unfold t; field; lra). lra.
    + apply over_le. intros x I. assert (G := tangent a t (p x) (q x) H T (C x I)). lra.
  - rewrite <- P, term_zero. apply over_nonneg. intros. apply term_nonneg. now apply C.
Qed.

(** ** Events, post-processing, secret random choices *)

Section Laws.
Variables A B : Type.
Variable outcomes : list A.

Theorem pure_event (s : A -> bool) p q e : close e p q ->
  over (filter s outcomes) p <= exp e * over (filter s outcomes) q.
Proof. intros C. rewrite <- over_scale. apply over_le. auto. Qed.

Variable f : A -> B.
Variable same : B -> B -> bool.

(** The law of [f] of the outcome. *)
Definition image (p : A -> R) (b : B) : R := over (filter (fun x => same (f x) b) outcomes) p.

Theorem pure_post p q e : close e p q -> close e (image p) (image q).
Proof. intros C b. now apply pure_event. Qed.

Theorem zcdp_post images p q rho : NoDup images -> (forall b c, same b c = true <-> b = c) ->
  (forall x, In x outcomes -> covered (p x) (q x)) ->
  concentrated outcomes rho p q -> concentrated images rho (image p) (image q).
Proof.
  intros N S C H a L. apply Rle_trans with (over outcomes (fun x => term a (p x) (q x))); auto.
  apply Rle_trans with
    (over images (fun b => over (filter (fun x => same (f x) b) outcomes)
      (fun x => term a (p x) (q x)))).
  - apply over_le. intros b _. apply term_over; auto. intros x I. apply C.
    now apply filter_In in I.
  - rewrite (over_ext images _ (fun b => over outcomes
      (fun x => if same (f x) b then term a (p x) (q x) else 0))) by (intros; apply over_filter).
    rewrite over_swap. apply over_le. intros x I.
    assert (T : 0 <= term a (p x) (q x)) by (apply term_nonneg; now apply C).
    set (z := term a (p x) (q x)) in *. clearbody z. clear - N S T.
    induction images as [|b l IH]; simpl; [lra|]. inversion N; subst.
    destruct (same (f x) b) eqn:E.
    + apply S in E. rewrite (over_ext l _ (fun _ => 0)); [rewrite over_zero; lra|].
      intros c J. destruct (same (f x) c) eqn:F; auto. apply S in F. congruence.
    + specialize (IH H2). lra.
Qed.
End Laws.

(** Secret random assignment: coins with public weights, the same on both tables. The row that one
    table lacks has no partner for its coin: then the second law does not depend on it. *)
Section Mixtures.
Variables A C : Type.
Variable coins : list C.
Variable weight : C -> R.
Hypothesis weights : forall c, In c coins -> 0 <= weight c.

Definition mixture (p : C -> A -> R) (x : A) : R := over coins (fun c => weight c * p c x).

Theorem pure_mixture p q e : (forall c, In c coins -> close e (p c) (q c)) ->
  close e (mixture p) (mixture q).
Proof.
  intros H x. unfold mixture. rewrite <- over_scale. apply over_le. intros c I.
  replace (exp e * (weight c * q c x)) with (weight c * (exp e * q c x)) by ring.
  apply Rmult_le_compat_l; auto. now apply H.
Qed.

Theorem zcdp_mixture outcomes p q rho : over coins weight = 1 ->
  (forall c x, In c coins -> covered (p c x) (q c x)) ->
  (forall c, In c coins -> concentrated outcomes rho (p c) (q c)) ->
  concentrated outcomes rho (mixture p) (mixture q).
Proof.
  intros W V H a L. unfold mixture.
  apply Rle_trans with (over outcomes (fun x => over coins
    (fun c => weight c * term a (p c x) (q c x)))).
  - apply over_le. intros x _.
    rewrite (over_ext coins (fun c => weight c * term a (p c x) (q c x))
      (fun c => term a (weight c * p c x) (weight c * q c x))).
    + apply term_over; auto. intros c I. apply covered_mult; auto.
      split; [|split]; auto.
    + intros c I. rewrite term_mult, term_same; auto. split; [|split]; auto.
  - rewrite over_swap. set (bound := exp (a * (a - 1) * rho)).
    replace bound with (over coins (fun c => bound * weight c))
      by (rewrite over_scale, W; ring).
    apply over_le. intros c I. rewrite over_scale, Rmult_comm.
    apply Rmult_le_compat_r; auto. now apply H.
Qed.
End Mixtures.

(** ** From zCDP to (epsilon, delta): [dpboost.privacy.accounting._epsilon_of_rho]

    Canonne, Kamath, Steinke, Proposition 12, for every order. *)
Definition delta_of (a rho e : R) : R :=
  exp ((a - 1) * (a * rho - e)) * (/ a * power (1 - / a) (a - 1)).

Theorem zcdp_approximate {A} (outcomes : list A) (s : A -> bool) p q rho a e : 1 < a ->
  (forall x, In x outcomes -> covered (p x) (q x)) -> concentrated outcomes rho p q ->
  over (filter s outcomes) p <= exp e * over (filter s outcomes) q + delta_of a rho e.
Proof.
  intros H C Z. set (c := / a * power (1 - / a) (a - 1)).
  assert (P : 0 < 1 - / a).
  { assert (/ a < / 1) by (apply Rinv_lt_contravar; lra). rewrite Rinv_1 in *. lra. }
  assert (I : 0 < / a) by (apply Rinv_0_lt_compat; lra).
  assert (K : 0 < c) by (unfold c; apply Rmult_lt_0_compat; auto using power_positive).
  set (t := exp e * / (1 - / a)).
  assert (T : 0 < t) by (unfold t; apply Rmult_lt_0_compat;
    auto using exp_pos, Rinv_0_lt_compat).
  set (m := c * exp (- (a - 1) * e)).
  assert (M : 0 < m) by (unfold m; apply Rmult_lt_0_compat; auto using exp_pos).
  assert (W : m * (a * power t (a - 1)) = 1).
  { unfold m, c, t. rewrite <- power_mult by (auto using exp_pos, Rinv_0_lt_compat).
    unfold power. rewrite log_exp, log_inverse by auto.
    set (l := log (1 - / a)).
    replace (/ a * exp ((a - 1) * l) * exp (- (a - 1) * e)
      * (a * (exp ((a - 1) * e) * exp ((a - 1) * - l))))
      with ((a * / a) * ((exp ((a - 1) * l) * exp ((a - 1) * - l))
        * (exp (- (a - 1) * e) * exp ((a - 1) * e)))) by ring.
    rewrite <- !exp_plus, Rinv_r by lra.
    match goal with |- _ * exp ?x = _ => replace x with 0 by ring end.
    rewrite exp_0. ring. }
  assert (X : m * ((a - 1) * (t * power t (a - 1))) = exp e).
  { replace (m * ((a - 1) * (t * power t (a - 1))))
      with (m * (a * power t (a - 1)) * ((a - 1) * / a * t)) by (field; lra).
    rewrite W. unfold t. field. split; lra. }
  assert (D : delta_of a rho e = m * exp (a * (a - 1) * rho)).
  { unfold delta_of, m. fold c.
    replace ((a - 1) * (a * rho - e)) with (a * (a - 1) * rho + - (a - 1) * e) by ring.
    rewrite exp_plus. ring. }
  rewrite D.
  apply Rle_trans with (over (filter s outcomes) (fun x => exp e * q x + m * term a (p x) (q x))).
  - apply over_le. intros x J. apply filter_In in J as [J _].
    assert (G := tangent a t (p x) (q x) H T (C x J)).
    apply (Rmult_le_compat_l m) in G; [|lra].
    replace (m * (a * power t (a - 1) * p x - (a - 1) * (t * power t (a - 1)) * q x))
      with (m * (a * power t (a - 1)) * p x
        - m * ((a - 1) * (t * power t (a - 1))) * q x) in G by ring.
    rewrite W, X in G. lra.
  - rewrite over_add, !over_scale. apply Rplus_le_compat_l. apply Rmult_le_compat_l; [lra|].
    apply Rle_trans with (over outcomes (fun x => term a (p x) (q x))); [|now apply Z].
    rewrite over_filter. apply over_le. intros x J. destruct (s x); [lra|].
    apply term_nonneg. now apply C.
Qed.
