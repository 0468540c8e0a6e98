(* The extracted constants and samplers as a program.

   reference constants                                  the table of constants as JSON
   reference samplers                                   the table of samples as JSON

   This file turns numbers into those of Coq and back, deals words, and prints: it decides nothing. *)
open Extracted

let rec positive_of n =
  if n = 1 then XH else if n land 1 = 1 then XI (positive_of (n lsr 1)) else XO (positive_of (n lsr 1))
let z_of n = if n = 0 then Z0 else if n > 0 then Zpos (positive_of n) else Zneg (positive_of (-n))
let rec of_positive = function XH -> 1 | XO p -> 2 * of_positive p | XI p -> (2 * of_positive p) + 1
let of_z = function Z0 -> 0 | Zpos p -> of_positive p | Zneg p -> -of_positive p
let rec nat_of n = if n = 0 then O else S (nat_of (n - 1))

(* -- words: splitmix64, so that the other side can make the same ones ---------------------------- *)

type source = {
  mutable state : int64;
  mutable half : int option;       (* the upper half of a word that next_uint32 has begun *)
  mutable pool : int64;            (* bits of draw_bit, the next one lowest *)
  mutable left : int;
}

let source seed = { state = Int64.of_int seed; half = None; pool = 0L; left = 0 }

let word s =
  s.state <- Int64.add s.state 0x9E3779B97F4A7C15L;
  let z = s.state in
  let z = Int64.mul (Int64.logxor z (Int64.shift_right_logical z 30)) 0xBF58476D1CE4E5B9L in
  let z = Int64.mul (Int64.logxor z (Int64.shift_right_logical z 27)) 0x94D049BB133111EBL in
  Int64.logxor z (Int64.shift_right_logical z 31)

let low w = Int64.to_int (Int64.logand w 0xFFFFFFFFL)

let word_32 s =
  match s.half with
  | Some h -> s.half <- None; h
  | None ->
      let w = word s in
      s.half <- Some (Int64.to_int (Int64.shift_right_logical w 32));
      low w

let bit s =
  if s.left = 0 then (s.pool <- word s; s.left <- 64);
  let b = Int64.to_int (Int64.logand s.pool 1L) in
  s.pool <- Int64.shift_right_logical s.pool 1;
  s.left <- s.left - 1;
  b

(* -- running a program with fuel without end ---------------------------------------------------- *)

let rec fuel = S fuel

let rec run s = function
  | Ret a -> a
  | Pick (n, k) ->
      let drawn = match of_z n with
        | 2 -> bit s
        | 4294967296 -> word_32 s
        | _ -> failwith "a word of another size" in
      run s (k (z_of drawn))
  | Stuck -> failwith "no fuel"

let draws = 60

(* A call of a kernel opens an empty pool of bits; halves of words stay with the source. *)
let sample seed draw = let s = source seed in List.init draws (fun _ -> draw s)

let list items = "[" ^ String.concat ", " items ^ "]"
let line name arguments items =
  Printf.sprintf "{\"sampler\": \"%s\", \"arguments\": %s, \"draws\": %s}" name
    (list (List.map string_of_int arguments)) (list (List.map string_of_int items))

let ratios = [ (1, 1); (1, 2); (3, 1); (1, 7); (5, 3); (17, 64); (1, 1000); (1000, 999);
  (4294967295, 1); (1, 4294967295); (12345, 67891); (4294967295, 4294967294) ]
let coins = [ (0, 1); (1, 1); (1, 2); (2, 1); (7, 2); (3, 5); (1000, 999); (1, 1000000) ]
let sigmas = [ 1; 2; 3; 7; 64; 1000; 65536; 2147483647 ]

let samplers () =
  List.concat [
    List.map (fun (p, q) -> line "discrete_laplace" [ p; q ]
      (sample (p + q) (fun s -> of_z (run s (draw_laplace (z_of p) (z_of q) fuel))))) ratios;
    List.map (fun (p, q) -> line "geometric" [ p; q ]
      (sample (p + q) (fun s -> of_z (run s (draw_magnitude (z_of p) (z_of q) fuel))))) ratios;
    List.map (fun (p, q) -> line "bernoulli_exp" [ p; q ]
      (sample (p + q) (fun s -> if run s (bernoulli_exp (z_of p) (z_of q) fuel) then 1 else 0))) coins;
    List.map (fun sigma -> line "discrete_gaussian" [ sigma ]
      (sample sigma (fun s -> of_z (run s (draw_gaussian (z_of sigma) fuel))))) sigmas;
  ]

(* -- constants over small cases ----------------------------------------------------------------- *)

let upto n = List.init n (fun i -> i + 1)
let relations = [ ("add_remove", AddRemove); ("replace", Replace) ]
let pairs xs ys = List.concat_map (fun x -> List.map (fun y -> (x, y)) ys) xs

let row name relation arguments values =
  Printf.sprintf "{\"constant\": \"%s\", \"relation\": \"%s\", \"arguments\": %s, %s}" name relation
    (list arguments)
    (String.concat ", " (List.map (fun (k, v) -> Printf.sprintf "\"%s\": %d" k (of_z v)) values))

let units = [ 1; 2; 3; 5; 16; 4096; 65536; 262144 ]

let contributions =
  let difference = function None -> "null" | Some d -> string_of_int d in
  let one l1 squares entries apart =
    ( Printf.sprintf "[%d, %d, %d, %s]" l1 squares entries (difference apart),
      { reach_l1 = z_of l1; reach_squares = z_of squares; reach_entries = nat_of entries;
        reach_difference = Option.map z_of apart } ) in
  List.concat_map (fun l1 ->
    List.concat_map (fun entries ->
      [ one l1 (l1 * l1) entries None; one l1 (((l1 * l1) + 1) / 2) entries None;
        one l1 (l1 * l1) entries (Some (2 * l1 * l1)); one l1 (l1 * l1) entries (Some (l1 * l1)) ])
      [ 1; 2 ])
    [ 1; 3; 16 ]

let constants () =
  List.concat_map (fun (r, relation) ->
    List.concat [
      List.map (fun (u, q) -> row "counts" r [ string_of_int u; string_of_int q ]
        [ ("l1", counts_l1 relation (z_of u) (z_of q)); ("l2", counts_l2 relation (z_of u) (z_of q));
          ("entries", counts_entries relation (z_of q)) ]) (pairs units (upto 20));
      List.map (fun (w, q) -> row "weighted" r [ string_of_int w; string_of_int q ]
        [ ("l1", weighted_l1 relation (z_of w));
          ("l2", root_up (weighted_squares relation (z_of w)));
          ("entries", weighted_entries relation (z_of q)) ])
        (List.filter (fun (w, q) -> w >= q) (pairs (upto 16) (upto 4)));
      List.map (fun (p, g) -> row "level" r [ string_of_int p; string_of_int g ]
        [ ("l1", level_l1 relation (z_of p) (z_of g)); ("entries", level_entries relation (z_of p)) ])
        (pairs (upto 12) units);
      List.map (fun (u, q) -> row "errors" r [ string_of_int u; string_of_int q ]
        [ ("l1", errors_l1 relation (z_of u) (z_of q)); ("l2", errors_l2 relation (z_of u) (z_of q)) ])
        (pairs units [ 3; 4; 5; 6 ]);
      List.map (fun (b, a) -> row "balance" r [ string_of_int b; string_of_int a ]
        [ ("l1", balance relation (z_of b) (z_of a)) ]) (pairs units units);
      List.map (fun u -> row "loss_change" r [ string_of_int u ]
        [ ("l1", loss_change relation (z_of u)) ]) units;
      List.map (fun ((a, g), (b, h)) -> row "newton" r [ a; b ]
        [ ("l1", newton_l1 relation g h); ("l2", newton_l2 relation g h);
          ("entries", newton_entries relation g h) ]) (pairs contributions contributions);
      List.map (fun (f, (a, g)) -> row "scaled" r [ string_of_int f; a ]
        [ ("l1", newton_l1 relation (scaled (z_of f) g) (scaled (z_of f) g));
          ("l2", newton_l2 relation (scaled (z_of f) g) (scaled (z_of f) g)) ])
        (pairs [ 1; 3; 16 ] contributions);
    ])
    relations
  @ List.map (fun s -> row "root_up" "" [ string_of_int s ] [ ("l2", root_up (z_of s)) ]) (0 :: upto 200)

let () =
  let rows = match Sys.argv with
    | [| _; "constants" |] -> constants ()
    | [| _; "samplers" |] -> samplers ()
    | _ -> prerr_endline "usage: reference constants|samplers"; exit 2 in
  print_string ("[\n" ^ String.concat ",\n" rows ^ "\n]\n")
