(** The samplers of cython_ext/noise.pyx and cython_ext/_bits.pxd, line by line.

    Each function has the name of its kernel. The last argument is fuel. *)
From Coq Require Import ZArith List Bool.
From DPBoost Require Import Programs.
Open Scope Z_scope.

Definition word32 : Z := 4294967296.

Definition draw_bit : prog bool := Pick 2 (fun z => Ret (z =? 1)).

(** Lemire: [n] is at most 2^32 - 1, and words have 32 bits. *)
Definition below_body (word n : Z) : prog (option Z) :=
  let surplus := (word - n) mod n in
  Pick word (fun w =>
    let product := w * n in
    if (product mod word <? n) && (product mod word <? surplus) then Ret None
    else Ret (Some (product / word))).
Definition draw_below_body (n : Z) : prog (option Z) := below_body word32 n.
Definition draw_below (n : Z) (fuel : nat) : prog Z :=
  if n =? 1 then Ret 0 else loop (fun _ => draw_below_body n) fuel.

Fixpoint digits (p q : Z) (fuel : nat) : prog bool :=
  if p =? 0 then Ret false else
  match fuel with
  | O => Stuck
  | S fuel =>
      let rest := q - p in
      let digit := rest <=? p in
      let p := if digit then p - rest else p + p in
      bind draw_bit (fun bit => if eqb bit digit then digits p q fuel else Ret digit)
  end.
Definition bernoulli (p q : Z) (fuel : nat) : prog bool :=
  if q <=? p then Ret true else digits p q fuel.

(** [while coin(position): position += 1], and whether the position is odd *)
Fixpoint walk (toss : Z -> nat -> prog bool) (position : Z) (fuel : nat) : prog bool :=
  match fuel with
  | O => Stuck
  | S fuel => bind (toss position fuel)
      (fun b => if b then walk toss (position + 1) fuel else Ret (Z.odd position))
  end.

Definition bernoulli_two_over_e (fuel : nat) : prog bool :=
  walk (fun position => bernoulli 1 position) 3 fuel.

Definition bernoulli_exp_one (fuel : nat) : prog bool :=
  bind draw_bit (fun b => if b then bernoulli_two_over_e fuel else Ret false).

Definition bernoulli_exp_fraction (p q : Z) (fuel : nat) : prog bool :=
  walk (fun position fuel =>
    bind (bernoulli 1 position fuel) (fun b => if b then bernoulli p q fuel else Ret false)) 1 fuel.

Fixpoint bernoulli_exp (p q : Z) (fuel : nat) : prog bool :=
  if q <=? p then
    match fuel with
    | O => Stuck
    | S fuel => bind (bernoulli_exp_one fuel)
        (fun b => if b then bernoulli_exp (p - q) q fuel else Ret false)
    end
  else bernoulli_exp_fraction p q fuel.

Fixpoint successes (multiple : Z) (fuel : nat) : prog Z :=
  match fuel with
  | O => Stuck
  | S fuel => bind (bernoulli_exp_one fuel)
      (fun b => if b then successes (multiple + 1) fuel else Ret multiple)
  end.

Definition remainder_body (q : Z) (fuel : nat) : prog (option Z) :=
  bind (draw_below q fuel) (fun x =>
    bind (bernoulli_exp_fraction x q fuel) (fun b => Ret (if b then Some x else None))).

(** [draw_magnitude] *)
Definition draw_magnitude (numerator denominator : Z) (fuel : nat) : prog Z :=
  bind (loop (remainder_body denominator) fuel) (fun remainder =>
    bind (successes 0 fuel) (fun multiple =>
      Ret ((remainder + multiple * denominator) / numerator))).

Definition laplace_body (numerator denominator : Z) (fuel : nat) : prog (option Z) :=
  bind draw_bit (fun negative =>
    bind (draw_magnitude numerator denominator fuel) (fun magnitude =>
      Ret (if negb (magnitude =? 0) || negb negative
           then Some (if negative then - magnitude else magnitude) else None))).

(** [draw_laplace] *)
Definition draw_laplace (numerator denominator : Z) : nat -> prog Z :=
  loop (laplace_body numerator denominator).

Definition gaussian_body (sigma : Z) (fuel : nat) : prog (option Z) :=
  bind (draw_laplace 1 sigma fuel) (fun candidate =>
    let size := if 0 <=? candidate then candidate else - candidate in
    let distance := if sigma <=? size then size - sigma else sigma - size in
    bind (bernoulli_exp (distance * distance) (2 * sigma * sigma) fuel)
      (fun b => Ret (if b then Some candidate else None))).

(** [draw_gaussian] *)
Definition draw_gaussian (sigma : Z) : nat -> prog Z := loop (gaussian_body sigma).
