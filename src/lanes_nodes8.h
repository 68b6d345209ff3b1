/* lanes_nodes8.h - numbers of eight nodes into lanes and back, for lanes_body.h where WIDTH is 8.
 *
 * As lanes_nodes4.h, with AVX-512.  Halves of nodes are put beside each other as they are loaded,
 * so that few instructions have to move numbers across a register. */

/* Halves, or quarters, of nodes side by side. */
INLINE VEC NAME(halves)(const double *p, const double *q) {
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(p)), _mm256_load_pd(q), 1);
}

INLINE VEC NAME(quarters)(const double *p, const double *q, const double *r, const double *s) {
  __m256d low = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(p)), _mm_load_pd(q), 1);
  __m256d high = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(r)), _mm_load_pd(s), 1);
  return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
}

/* Which 128 bits of a, twice, and of b make the four of the result. */
#define BITS_OF(a0, a1, b0, b1) ((a0) | (a1) << 2 | (b0) << 4 | (b1) << 6)

/* Four numbers of each node. */
INLINE void NAME(load_quarters)(const double *numbers, const int *node, VEC u[4]) {
  VEC a = NAME(halves)(NODE(numbers, node[0]), NODE(numbers, node[2]));
  VEC b = NAME(halves)(NODE(numbers, node[1]), NODE(numbers, node[3]));
  VEC c = NAME(halves)(NODE(numbers, node[4]), NODE(numbers, node[6]));
  VEC d = NAME(halves)(NODE(numbers, node[5]), NODE(numbers, node[7]));
  VEC ab0 = _mm512_unpacklo_pd(a, b), ab1 = _mm512_unpackhi_pd(a, b);
  VEC cd0 = _mm512_unpacklo_pd(c, d), cd1 = _mm512_unpackhi_pd(c, d);
  u[0] = _mm512_shuffle_f64x2(ab0, cd0, BITS_OF(0, 2, 0, 2));
  u[1] = _mm512_shuffle_f64x2(ab1, cd1, BITS_OF(0, 2, 0, 2));
  u[2] = _mm512_shuffle_f64x2(ab0, cd0, BITS_OF(1, 3, 1, 3));
  u[3] = _mm512_shuffle_f64x2(ab1, cd1, BITS_OF(1, 3, 1, 3));
}

INLINE void NAME(load_nodes)(const double *nodes, const int *node, VEC u[NODE_SIZE]) {
  NAME(load_quarters)(nodes, node, u);
  const double *last = nodes + 4;
  VEC even = NAME(quarters)(NODE(last, node[0]), NODE(last, node[2]), NODE(last, node[4]),
                            NODE(last, node[6]));
  VEC odd = NAME(quarters)(NODE(last, node[1]), NODE(last, node[3]), NODE(last, node[5]),
                           NODE(last, node[7]));
  u[4] = _mm512_unpacklo_pd(even, odd);
  u[5] = _mm512_unpackhi_pd(even, odd);
}

/* From pairs of numbers of four nodes, first, second and third pair, to whole nodes; what a node
 * has room for beyond its numbers becomes 0. */
INLINE void NAME(join_pairs)(VEC first, VEC second, VEC third, VEC whole[4]) {
  const __mmask8 numbers = (1 << NODE_SIZE) - 1;
  VEC low = _mm512_shuffle_f64x2(first, second, BITS_OF(0, 1, 0, 1));
  VEC high = _mm512_shuffle_f64x2(first, second, BITS_OF(2, 3, 2, 3));
  whole[0] = _mm512_maskz_shuffle_f64x2(numbers, low, third, BITS_OF(0, 2, 0, 0));
  whole[1] = _mm512_maskz_shuffle_f64x2(numbers, low, third, BITS_OF(1, 3, 1, 0));
  whole[2] = _mm512_maskz_shuffle_f64x2(numbers, high, third, BITS_OF(0, 2, 2, 0));
  whole[3] = _mm512_maskz_shuffle_f64x2(numbers, high, third, BITS_OF(1, 3, 3, 0));
}

/* Each lane's numbers as its node has them: of even lanes, then of odd ones. */
INLINE void NAME(turn_back)(const VEC u[NODE_SIZE], VEC even[4], VEC odd[4]) {
  NAME(join_pairs)(_mm512_unpacklo_pd(u[0], u[1]), _mm512_unpacklo_pd(u[2], u[3]),
                   _mm512_unpacklo_pd(u[4], u[5]), even);
  NAME(join_pairs)(_mm512_unpackhi_pd(u[0], u[1]), _mm512_unpackhi_pd(u[2], u[3]),
                   _mm512_unpackhi_pd(u[4], u[5]), odd);
}

INLINE void NAME(store_nodes)(double *nodes, const int *node, const VEC u[NODE_SIZE]) {
  VEC even[4], odd[4];
  NAME(turn_back)(u, even, odd);
  UNROLL
  for (int l = 0; l < WIDTH; l++) *(VEC *)NODE(nodes, node[l]) = l % 2 ? odd[l / 2] : even[l / 2];
}

/* One after the other: lanes may name the same node. */
INLINE void NAME(add_to_nodes)(double *nodes, const int *node, const VEC u[NODE_SIZE]) {
  VEC even[4], odd[4];
  NAME(turn_back)(u, even, odd);
  UNROLL
  for (int l = 0; l < WIDTH; l++) *(VEC *)NODE(nodes, node[l]) += l % 2 ? odd[l / 2] : even[l / 2];
}

#undef BITS_OF
