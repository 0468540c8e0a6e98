(** The ledger: scopes, the filter, and adaptive composition of all releases of a fit.

    [dpboost.privacy.ledger.Ledger]. A release has a path of scopes and a charge, both functions of
    what was released before. The ledger refuses it where the total would pass the budget. *)
From Coq Require Import Reals List Lra Lia Bool Arith.
From DPBoost Require Import Powers Laws.
Import ListNotations.
Open Scope R_scope.

(** ** Totals of scopes

    A scope is known by its path, the numbers of its ancestors' children. *)
Definition path := list nat.
Definition entry := (path * R)%type.

Fixpoint sum_below (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S k => sum_below k f + f k end.
Fixpoint max_below (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S k => Rmax (max_below k f) (f k) end.

Lemma max_below_nonneg n f : 0 <= max_below n f.
Proof. induction n; simpl; [lra|]. apply Rle_trans with (max_below n f); auto. apply Rmax_l. Qed.

Lemma max_below_ge n f k : (k < n)%nat -> f k <= max_below n f.
Proof.
  induction n; intros L; [lia|]. simpl. destruct (Nat.eq_dec k n) as [->|N]; [apply Rmax_r|].
  apply Rle_trans with (max_below n f); [apply IHn; lia|apply Rmax_l].
Qed.

Lemma sum_below_le n f g : (forall k, (k < n)%nat -> f k <= g k) -> sum_below n f <= sum_below n g.
Proof. induction n; simpl; intros L; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_below_add n f g : sum_below n (fun k => f k + g k) = sum_below n f + sum_below n g.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.

Lemma sum_below_zero n : sum_below n (fun _ => 0) = 0.
Proof. induction n; simpl; lra. Qed.

Lemma sum_below_one n k c : (k < n)%nat -> sum_below n (fun i => if Nat.eqb k i then c else 0) = c.
Proof.
  induction n; intros L; [lia|]. simpl. destruct (Nat.eqb_spec k n) as [->|N].
  - assert (E : forall m, (m <= n)%nat -> sum_below m (fun i => if Nat.eqb n i then c else 0) = 0).
    { induction m; simpl; intros; [lra|]. destruct (Nat.eqb_spec n m); [lia|].
      rewrite IHm by lia. lra. }
    rewrite E by lia. lra.
  - rewrite IHn by lia. lra.
Qed.

Section Scopes.
Variable parallel : path -> bool.       (* what kind of scope a path leads to *)
Variables (width depth : nat).          (* no scope has more children, no path is longer *)

(** The entries below a child, with their paths from there. *)
Definition below (i : nat) (es : list entry) : list entry :=
  flat_map (fun e => match fst e with
    | j :: s => if Nat.eqb j i then [(s, snd e)] else []
    | [] => [] end) es.

Definition own (es : list entry) : R :=
  over es (fun e => match fst e with [] => snd e | _ => 0 end).

(** [Scope.total]: a sequential scope costs the sum of its entries and of its children, a parallel
    scope the largest of its children. *)
Fixpoint total (d : nat) (pre : path) (es : list entry) : R :=
  own es + match d with
  | O => 0
  | S d => (if parallel pre then max_below else sum_below) width
      (fun i => total d (pre ++ [i]) (below i es))
  end.

(** In which child of each parallel scope the row is that differs; children have disjoint rows. *)
Variable child : path -> nat.

(** Whether a release at a path is on rows among which it may be. *)
Fixpoint on_route (pre s : path) : bool :=
  match s with
  | [] => true
  | i :: s => (negb (parallel pre) || Nat.eqb i (child pre)) && on_route (pre ++ [i]) s
  end.

Definition loss (pre : path) (es : list entry) : R :=
  over es (fun e => if on_route pre (fst e) then snd e else 0).

Definition fine (d : nat) (es : list entry) : Prop := forall e, In e es ->
  0 <= snd e /\ (length (fst e) <= d)%nat /\ forall i, In i (fst e) -> (i < width)%nat.

Lemma fine_below d i es : fine (S d) es -> fine d (below i es).
Proof.
  intros F e I. unfold below in I. apply in_flat_map in I as ([p c] & J & K).
  destruct (F _ J) as (C & L & W). simpl in *. destruct p as [|j s]; [contradiction|].
  destruct (Nat.eqb j i); [|contradiction]. destruct K as [<-|[]]. simpl in *.
  split; [auto|split; [lia|]]. intros k M. apply W. auto.
Qed.

Lemma own_nonneg d es : fine d es -> 0 <= own es.
Proof.
  intros F. apply over_nonneg. intros e I. destruct (F e I) as (C & _).
  destruct (fst e); lra.
Qed.

Lemma sum_below_nonneg n f : (forall k, (k < n)%nat -> 0 <= f k) -> 0 <= sum_below n f.
Proof.
  intros P. rewrite <- (sum_below_zero n). apply sum_below_le. auto.
Qed.

Lemma total_nonneg d pre es : fine d es -> 0 <= total d pre es.
Proof.
  revert pre es. induction d; intros pre es F; simpl.
  - assert (O := own_nonneg _ _ F). lra.
  - assert (O := own_nonneg _ _ F). destruct (parallel pre).
    + assert (M := max_below_nonneg width (fun i => total d (pre ++ [i]) (below i es))). lra.
    + assert (0 <= sum_below width (fun i => total d (pre ++ [i]) (below i es))); [|lra].
      apply sum_below_nonneg. intros. apply IHd. now apply fine_below.
Qed.

(** The loss of a scope is that of its own entries and of its children on the route. *)
Lemma loss_split d pre es : fine d es -> loss pre es = own es
  + sum_below width (fun i => if negb (parallel pre) || Nat.eqb i (child pre)
      then loss (pre ++ [i]) (below i es) else 0).
Proof.
  unfold loss, own. induction es as [|[p c] es IH]; intros F; simpl.
  - assert (Z : forall n, sum_below n (fun i => if negb (parallel pre) || Nat.eqb i (child pre)
      then 0 else 0) = 0).
    { induction n; simpl; [lra|]. rewrite IHn. destruct (_ || _); lra. }
    rewrite Z. lra.
  - rewrite IH by (intros e I; apply F; right; auto). clear IH.
    destruct (F (p, c)) as (_ & _ & W); [left; auto|]. simpl in W.
    destruct p as [|j s]; simpl.
    + lra.
    + assert (J : (j < width)%nat) by (apply W; left; auto).
      set (x := if (negb (parallel pre) || Nat.eqb j (child pre)) && on_route (pre ++ [j]) s
        then c else 0).
      rewrite <- (sum_below_one width j x J) at 1.
      set (o := over es _). rewrite Rplus_0_l, <- Rplus_assoc, (Rplus_comm _ o), Rplus_assoc.
      f_equal. rewrite <- sum_below_add. clear - W.
      assert (E : forall i, (if Nat.eqb j i then x else 0)
        + (if negb (parallel pre) || Nat.eqb i (child pre)
           then over (below i es) (fun e => if on_route (pre ++ [i]) (fst e) then snd e else 0)
           else 0)
        = (if negb (parallel pre) || Nat.eqb i (child pre)
           then over ((if Nat.eqb j i then [(s, c)] else []) ++ below i es)
             (fun e => if on_route (pre ++ [i]) (fst e) then snd e else 0)
           else 0)).
      { intros i. rewrite over_app.
        set (r := over (below i es) _). destruct (Nat.eqb_spec j i) as [<-|N]; cbn [over fst snd].
        - unfold x. destruct (negb (parallel pre) || Nat.eqb j (child pre)); simpl; [|lra].
          match goal with |- _ = _ + ?z => change z with r end.
          destruct (on_route (pre ++ [j]) s); lra.
        - destruct (negb (parallel pre) || Nat.eqb i (child pre)); [|lra].
          match goal with |- _ = _ + ?z => change z with r end. lra. }
      clear W. induction width as [|n IHn]; simpl; auto. rewrite IHn, E. reflexivity.
Qed.

(** The charges of all releases on the row that differs add up to no more than the total. *)
Theorem loss_below_total d pre es : fine d es -> loss pre es <= total d pre es.
Proof.
  revert pre es. induction d; intros pre es F.
  - simpl. rewrite Rplus_0_r. apply over_le. intros [p c] I. destruct (F _ I) as (C & L & _).
    simpl in *. destruct p; simpl in *; [lra|lia].
  - rewrite (loss_split _ _ _ F). simpl. apply Rplus_le_compat_l.
    assert (B : forall i, loss (pre ++ [i]) (below i es) <= total d (pre ++ [i]) (below i es)).
    { intros. apply IHd. now apply fine_below. }
    assert (P : forall i, 0 <= total d (pre ++ [i]) (below i es)).
    { intros. apply total_nonneg. now apply fine_below. }
    destruct (parallel pre); simpl.
    + set (k := child pre). destruct (Nat.lt_ge_cases k width) as [K|K].
      * apply Rle_trans with (sum_below width
          (fun i => if Nat.eqb k i then loss (pre ++ [k]) (below k es) else 0)).
        -- apply sum_below_le. intros i _. rewrite (Nat.eqb_sym i k).
           destruct (Nat.eqb_spec k i) as [<-|]; apply Rle_refl.
        -- rewrite sum_below_one by auto.
           apply Rle_trans with (total d (pre ++ [k]) (below k es)); auto.
           apply (max_below_ge width (fun i => total d (pre ++ [i]) (below i es)) k K).
      * apply Rle_trans with 0; [|apply max_below_nonneg].
        apply Rle_trans with (sum_below width (fun _ => 0)); [|rewrite sum_below_zero; lra].
        apply sum_below_le. intros i I. destruct (Nat.eqb_spec i k); [lia|lra].
    + apply sum_below_le. auto.
Qed.
End Scopes.

(** [ledger_records.growth]: a running total that grows by it is the largest child. *)
Definition growth (old child : R) : R := if Rle_dec child old then 0 else child - old.
Theorem growth_is_max old child : old + growth old child = Rmax old child.
Proof.
  unfold growth. destruct (Rle_dec child old).
  - rewrite Rmax_left by auto. lra.
  - rewrite Rmax_right by lra. lra.
Qed.

(** ** Adaptive composition *)

Section Composition.
Variable A : Type.                          (* what one release may give *)
Variable outcomes : list A.
Definition history := list A.               (* the last outcome first *)

(** The fit as the two tables see it: the law of the next release, given all that was released. *)
Variables k1 k2 : history -> A -> R.
Hypothesis laws : forall h x, covered (k1 h x) (k2 h x).
Hypothesis whole : forall h, over outcomes (k1 h) = 1.

(** Path and charge of the next release: functions of released numbers. *)
Variable parallel : path -> bool.
Variables (width depth : nat).
Variable next : history -> entry.
Hypothesis next_fine : forall h, fine width depth [next h].

Fixpoint booked (h : history) : list entry :=
  match h with [] => [] | _ :: h => next h :: booked h end.

(** The filter: a release is drawn only when the total with its charge is covered. *)
Variable budget : R.
Hypothesis budget_nonneg : 0 <= budget.
Definition after (h : history) : list entry := next h :: booked h.
Definition refused (h : history) : bool :=
  if Rle_dec (total parallel width depth [] (after h)) budget then false else true.

(** Children of parallel scopes work on disjoint rows: a release that is not on the route of the
    row that differs has the same law on both tables. *)
Variable child : path -> nat.
Let touched (h : history) : bool := on_route parallel child [] (fst (next h)).
Hypothesis disjoint : forall h, touched h = false -> forall x, k1 h x = k2 h x.

Let spent (h : history) : R := loss parallel child [] (booked h).
Let charge (h : history) : R := if touched h then snd (next h) else 0.

Lemma booked_fine h : fine width depth (booked h).
Proof.
  induction h as [|x h IH]; simpl; [intros ? []|].
  intros e [<-|I]; [apply (next_fine h); left; auto|auto].
Qed.

Lemma spent_next x h : spent (x :: h) = spent h + charge h.
Proof. unfold spent, charge, touched. unfold loss. simpl. lra. Qed.

Lemma charge_nonneg h : 0 <= charge h.
Proof.
  unfold charge. destruct (touched h); [|lra]. apply (next_fine h). left. auto.
Qed.

Lemma admitted h : refused h = false -> spent h + charge h <= budget.
Proof.
  unfold refused. destruct (Rle_dec _ budget) as [L|L]; [|discriminate]. intros _.
  apply Rle_trans with (total parallel width depth [] (after h)); auto.
  assert (F : fine width depth (after h)) by (intros e [<-|I];
    [apply (next_fine h); left; auto|now apply (booked_fine h)]).
  assert (B := loss_below_total parallel width child depth [] (after h) F).
  unfold spent, charge, touched. unfold loss, after in *. simpl in *. lra.
Qed.

(** Runs of at most [n] releases that go on until one is refused. *)
Fixpoint runs (n : nat) (h : history) : list (list A) :=
  match n with
  | O => [[]]
  | S n => if refused h then [[]]
      else flat_map (fun x => map (cons x) (runs n (x :: h))) outcomes
  end.

Fixpoint law (k : history -> A -> R) (h : history) (r : list A) : R :=
  match r with [] => 1 | x :: r => k h x * law k (x :: h) r end.

Lemma law_covered h r : covered (law k1 h r) (law k2 h r).
Proof.
  revert h. induction r as [|x r IH]; intros h; simpl.
  - split; [lra|split; lra].
  - apply covered_mult; auto.
Qed.

(** *** Pure privacy *)

Section Pure.
Hypothesis private : forall h, touched h = true -> close (snd (next h)) (k1 h) (k2 h).

Lemma close_charge h x : k1 h x <= exp (charge h) * k2 h x.
Proof.
  unfold charge. destruct (touched h) eqn:T; [now apply private|].
  rewrite exp_0, disjoint by auto. lra.
Qed.

Lemma pure_step n h r : spent h <= budget -> In r (runs n h) ->
  law k1 h r <= exp (budget - spent h) * law k2 h r.
Proof.
  revert h r. induction n as [|n IH]; intros h r S I.
  - destruct I as [<-|[]]. simpl. rewrite Rmult_1_r. rewrite <- exp_0 at 1.
    destruct (Req_dec (budget - spent h) 0) as [->|N]; [lra|]. left. apply exp_less. lra.
  - simpl in I. destruct (refused h) eqn:Q.
    + destruct I as [<-|[]]. simpl. rewrite Rmult_1_r. rewrite <- exp_0 at 1.
      destruct (Req_dec (budget - spent h) 0) as [->|N]; [lra|]. left. apply exp_less. lra.
    + apply in_flat_map in I as (x & X & I). apply in_map_iff in I as (s & <- & I). simpl.
      apply admitted in Q. assert (E := spent_next x h).
      assert (L := IH (x :: h) s ltac:(lra) I). rewrite E in L.
      replace (budget - spent h) with (charge h + (budget - (spent h + charge h))) by ring.
      rewrite exp_plus.
      assert (C := close_charge h x). destruct (law_covered (x :: h) s) as (V & W & _).
      destruct (laws h x) as (P & _ & _).
      apply Rle_trans with (k1 h x * (exp (budget - (spent h + charge h)) * law k2 (x :: h) s)).
      * apply Rmult_le_compat_l; auto.
      * replace (exp (charge h) * exp (budget - (spent h + charge h)) * (k2 h x * law k2 (x :: h) s))
          with (exp (charge h) * k2 h x * (exp (budget - (spent h + charge h)) * law k2 (x :: h) s))
          by ring.
        apply Rmult_le_compat_r; auto. apply Rmult_le_pos; auto. left. apply exp_pos.
Qed.

(** Everything that a fit releases is [budget]-private: no run is more likely by more than that
    factor. *)
Theorem pure_composition n r : In r (runs n []) ->
  law k1 [] r <= exp budget * law k2 [] r.
Proof.
  intros I. assert (S := pure_step n [] r). unfold spent, loss in S. simpl in S.
  replace (budget - 0) with budget in S by ring. auto.
Qed.
End Pure.

(** *** zCDP *)

Section Concentrated.
Hypothesis private : forall h, touched h = true ->
  concentrated outcomes (snd (next h)) (k1 h) (k2 h).

Lemma concentrated_charge h : concentrated outcomes (charge h) (k1 h) (k2 h).
Proof.
  unfold charge. destruct (touched h) eqn:T; [now apply private|].
  intros a L. rewrite Rmult_0_r, exp_0, <- (whole h). apply Req_le. apply over_ext. intros x _.
  rewrite disjoint by auto. apply term_same. apply (laws h x).
Qed.

Lemma moment_nonneg c a : 1 < a -> 0 <= c -> 1 <= exp (a * (a - 1) * c).
Proof.
  intros L C. rewrite <- exp_0 at 1.
  assert (P : 0 <= a * (a - 1) * c) by (repeat apply Rmult_le_pos; lra).
  destruct P as [P| <-]; [left; now apply exp_less|lra].
Qed.

Lemma zcdp_step n h a : 1 < a -> spent h <= budget ->
  over (runs n h) (fun r => term a (law k1 h r) (law k2 h r))
  <= exp (a * (a - 1) * (budget - spent h)).
Proof.
  intros L. revert h. induction n as [|n IH]; intros h S.
  - simpl. rewrite term_same by lra. assert (M := moment_nonneg (budget - spent h) a L). lra.
  - simpl. destruct (refused h) eqn:Q.
    + simpl. rewrite term_same by lra. assert (M := moment_nonneg (budget - spent h) a L). lra.
    + apply admitted in Q. rewrite over_flat_map.
      set (rest := exp (a * (a - 1) * (budget - (spent h + charge h)))).
      apply Rle_trans with (over outcomes (fun x => rest * term a (k1 h x) (k2 h x))).
      * apply over_le. intros x _. rewrite over_map. simpl.
        rewrite (over_ext (runs n (x :: h)) _
          (fun r => term a (k1 h x) (k2 h x) * term a (law k1 (x :: h) r) (law k2 (x :: h) r))).
        -- rewrite over_scale, Rmult_comm. apply Rmult_le_compat_r.
           ++ apply term_nonneg. apply (laws h x).
           ++ unfold rest. rewrite <- (spent_next x h). apply IH. rewrite spent_next. lra.
        -- intros r _. apply term_mult; auto using law_covered.
      * rewrite over_scale. assert (C := concentrated_charge h a L).
        replace (a * (a - 1) * (budget - spent h))
          with (a * (a - 1) * (budget - (spent h + charge h)) + a * (a - 1) * charge h) by ring.
        rewrite exp_plus. apply Rmult_le_compat_l; auto. left. apply exp_pos.
Qed.

(** Everything that a fit releases is [budget]-zCDP. *)
Theorem zcdp_composition n :
  concentrated (runs n []) budget (law k1 []) (law k2 []).
Proof.
  intros a L. assert (S := zcdp_step n [] a L). unfold spent, loss in S. simpl in S.
  replace (budget - 0) with budget in S by ring. auto.
Qed.
End Concentrated.
End Composition.
