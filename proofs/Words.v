(** Sums of integers in 64-bit words, and two sums packed into one word. *)
From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

(** ** Arithmetic modulo 2^64, as int64 shows it *)

Definition word : Z := 2 ^ 64.
Definition half : Z := 2 ^ 63.

(** The int64 of a number: what a register keeps of it. *)
Definition wrap (z : Z) : Z := (z + half) mod word - half.
Definition fits (z : Z) : Prop := - half <= z < half.

Lemma word_half : word = 2 * half. Proof. reflexivity. Qed.
Lemma word_positive : 0 < word. Proof. reflexivity. Qed.

Theorem wrap_fits z : fits (wrap z).
Proof.
  unfold wrap, fits. assert (B := Z.mod_pos_bound (z + half) word word_positive).
  rewrite word_half in *. lia.
Qed.

Theorem wrap_exact z : fits z -> wrap z = z.
Proof.
  unfold wrap, fits. intros F. rewrite Z.mod_small; [lia|]. rewrite word_half. lia.
Qed.

Lemma wrap_mod z : (wrap z) mod word = z mod word.
Proof.
  unfold wrap. rewrite Zminus_mod_idemp_l. f_equal. lia.
Qed.

Lemma wrap_same y z : y mod word = z mod word -> wrap y = wrap z.
Proof.
  intros E. unfold wrap. f_equal. rewrite <- (Zplus_mod_idemp_l y), <- (Zplus_mod_idemp_l z).
  now rewrite E.
Qed.

(** Additions may wrap on the way, in any order: what is shown at the end is that of the sum. *)
Theorem wrap_add y z : wrap (wrap y + wrap z) = wrap (y + z).
Proof.
  apply wrap_same. rewrite Z.add_mod, !wrap_mod, <- Z.add_mod; auto; discriminate.
Qed.

Fixpoint sum (t : list Z) : Z := match t with [] => 0 | z :: t => z + sum t end.

(** A kernel adds word by word. *)
Definition register (t : list Z) : Z := fold_left (fun s z => wrap (s + z)) t 0.

Theorem register_sum t : register t = wrap (sum t).
Proof.
  unfold register. assert (G : forall s, fold_left (fun s z => wrap (s + z)) t (wrap s)
    = wrap (s + sum t)).
  { induction t as [|z t IH]; intros s; simpl; [f_equal; lia|].
    replace (wrap (wrap s + z)) with (wrap (s + z)).
    - rewrite IH. f_equal. lia.
    - apply wrap_same. rewrite (Z.add_mod (wrap s)), wrap_mod, <- Z.add_mod; auto; discriminate. }
  specialize (G 0). rewrite wrap_exact in G; [exact G|]. unfold fits, half. lia.
Qed.

Lemma sum_bound b t : (forall z, In z t -> Z.abs z <= b) -> 0 <= b ->
  Z.abs (sum t) <= b * Z.of_nat (length t).
Proof.
  intros L P. induction t as [|z t IH]; simpl; [lia|].
  assert (Z.abs z <= b) by (apply L; simpl; auto).
  assert (Z.abs (sum t) <= b * Z.of_nat (length t)) by (apply IH; intros; apply L; simpl; auto).
  nia.
Qed.

(** At most 2^31 rows, of which each adds at most 2^32 units less one to an entry: 64-bit sums are
    the exact ones (docs/proofs/integers.md). *)
Theorem sums_do_not_overflow t : (forall z, In z t -> Z.abs z <= 2 ^ 32 - 1) ->
  Z.of_nat (length t) <= 2 ^ 31 -> register t = sum t.
Proof.
  intros L N. rewrite register_sum. apply wrap_exact.
  assert (B := sum_bound (2 ^ 32 - 1) t L ltac:(lia)). unfold fits, half in *. nia.
Qed.

(** Threads, partitions, batches and sites: whatever the order and the parts, the same number. *)
Theorem order_does_not_matter s t : Permutation s t -> register s = register t.
Proof.
  intros P. rewrite !register_sum. f_equal. induction P; simpl; lia.
Qed.

Theorem parts_do_not_matter (parts : list (list Z)) :
  register (map register parts) = register (concat parts).
Proof.
  rewrite !register_sum. apply wrap_same. induction parts as [|p parts IH]; [reflexivity|].
  simpl. assert (A : forall s t, sum (s ++ t) = sum s + sum t).
  { induction s; simpl; intros; [|rewrite IHs]; lia. }
  rewrite A, register_sum, Z.add_mod, wrap_mod, IH, <- Z.add_mod; auto; discriminate.
Qed.

(** The noisy number that leaves is a function of the exact sum and of the noise: wrapping is
    post-processing. *)
Theorem wrapped_release v v' x : wrap v = wrap v' -> wrap (v + x) = wrap (v' + x).
Proof. intros E. rewrite <- wrap_add, E, wrap_add. reflexivity. Qed.

(** Masks of a secure sum that cancel leave the sum of the parties' numbers. *)
Theorem masks_cancel (values masks : list Z) : length values = length masks ->
  wrap (sum masks) = 0 ->
  register (map (fun p => wrap (fst p + snd p)) (combine values masks)) = wrap (sum values).
Proof.
  intros L M. rewrite register_sum.
  assert (G : sum (map (fun p => wrap (fst p + snd p)) (combine values masks)) mod word
    = (sum values + sum masks) mod word).
  { clear M. revert masks L. induction values as [|v values IH]; intros [|m masks] L;
    try discriminate; [reflexivity|]. simpl. injection L as L.
    rewrite Z.add_mod, wrap_mod, IH, <- Z.add_mod by (auto; discriminate). f_equal. lia. }
  rewrite (wrap_same _ _ G), <- wrap_add, M, Z.add_0_r. apply wrap_exact, wrap_fits.
Qed.

(** ** Packed words: [gradient * 2^32 + count] in histogram.pyx, [+ hessian] in newton.pyx *)

Definition packed (p : Z * Z) : Z := fst p * 2 ^ 32 + snd p.
Definition low (z : Z) : Z := z mod 2 ^ 32.         (* [packed & 0xFFFFFFFF] *)
Definition high (z : Z) : Z := z / 2 ^ 32.          (* arithmetic shift by 32 *)

Section Packed.
Variables (gradient field rows : Z).
Hypothesis gradient_positive : 0 <= gradient.
Hypothesis field_positive : 0 <= field.
(** No field overflows: *)
Hypothesis gradients_fit : gradient * rows < 2 ^ 31.
Hypothesis fields_fit : field * rows < 2 ^ 32.

Let firsts (t : list (Z * Z)) := sum (map fst t).
Let seconds (t : list (Z * Z)) := sum (map snd t).

Lemma packed_sum t : sum (map packed t) = packed (firsts t, seconds t).
Proof.
  unfold firsts, seconds. induction t as [|p t IH]; [reflexivity|]. cbn [map sum].
  rewrite IH. unfold packed. cbn [fst snd]. lia.
Qed.

Theorem packed_sums_do_not_overflow t : Z.of_nat (length t) <= rows ->
  (forall p, In p t -> Z.abs (fst p) <= gradient /\ 0 <= snd p <= field) ->
  register (map packed t) = sum (map packed t)
  /\ high (register (map packed t)) = firsts t /\ low (register (map packed t)) = seconds t.
Proof.
  intros N L.
  assert (A : Z.abs (firsts t) <= gradient * Z.of_nat (length t)).
  { unfold firsts. rewrite <- (map_length fst t). apply sum_bound; auto.
    intros z I. apply in_map_iff in I as (p & <- & I). now apply L. }
  assert (B : 0 <= seconds t <= field * Z.of_nat (length t)).
  { unfold seconds. clear A N. induction t as [|p t IH]; simpl; [lia|].
    assert (0 <= snd p <= field) by (apply L; simpl; auto).
    assert (0 <= sum (map snd t) <= field * Z.of_nat (length t))
      by (apply IH; intros; apply L; simpl; auto). nia. }
  assert (A' : Z.abs (firsts t) < 2 ^ 31) by nia.
  assert (B' : 0 <= seconds t < 2 ^ 32) by nia.
  assert (R : register (map packed t) = sum (map packed t)).
  { rewrite register_sum. apply wrap_exact. rewrite packed_sum. unfold fits, half, packed.
    cbn [fst snd]. lia. }
  split; auto. rewrite R, packed_sum. unfold high, low, packed. cbn [fst snd]. split.
  - rewrite Z.div_add_l by lia. rewrite Z.div_small by lia. lia.
  - rewrite Z.add_comm, Z.mod_add by lia. apply Z.mod_small. lia.
Qed.
End Packed.

(** histogram.pyx: gradients of at most 2^16, counts of one, blocks of 32,767 rows. *)
Theorem histogram_blocks t : Z.of_nat (length t) <= 32767 ->
  (forall p, In p t -> Z.abs (fst p) <= 2 ^ 16 /\ 0 <= snd p <= 1) ->
  register (map packed t) = sum (map packed t)
  /\ high (register (map packed t)) = sum (map fst t)
  /\ low (register (map packed t)) = sum (map snd t).
Proof. intros. apply (packed_sums_do_not_overflow (2 ^ 16) 1 32767); auto; lia. Qed.

(** newton.pyx, lookup_trees.pyx, training_pass.pyx: hessians of at most 2^16 as well, blocks of
    32,767 rows; training passes take 63 chunks of 512. *)
Theorem newton_blocks t : Z.of_nat (length t) <= 32767 ->
  (forall p, In p t -> Z.abs (fst p) <= 2 ^ 16 /\ 0 <= snd p <= 2 ^ 16) ->
  register (map packed t) = sum (map packed t)
  /\ high (register (map packed t)) = sum (map fst t)
  /\ low (register (map packed t)) = sum (map snd t).
Proof. intros. apply (packed_sums_do_not_overflow (2 ^ 16) (2 ^ 16) 32767); auto; lia. Qed.

Theorem training_chunks : 63 * 512 <= 32767.
Proof. lia. Qed.

(** One row more could overflow: the limit of a block is the largest. *)
Theorem blocks_are_the_largest :
  high (wrap (2 ^ 16 * 2 ^ 32 * 32768)) <> 2 ^ 16 * 32768.
Proof. vm_compute. discriminate. Qed.
