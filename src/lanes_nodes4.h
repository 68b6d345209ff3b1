/* lanes_nodes4.h - numbers of four nodes into lanes and back, for lanes_body.h where WIDTH is 4.
 *
 * Nodes lie in memory as NODE_ROOM numbers each; kernels want a vector for each number. */

/* Four numbers of each of four nodes, turned so that each has its four lanes; or back. */
INLINE void NAME(turn)(VEC a, VEC b, VEC c, VEC d, VEC u[4]) {
  VEC ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6),
      ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  VEC cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6),
      cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  u[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  u[1] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  u[2] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  u[3] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

/* Four numbers of each node. */
INLINE void NAME(load_quarters)(const double *numbers, const int *node, VEC u[4]) {
  NAME(turn)(*(const VEC *)NODE(numbers, node[0]), *(const VEC *)NODE(numbers, node[1]),
             *(const VEC *)NODE(numbers, node[2]), *(const VEC *)NODE(numbers, node[3]), u);
}

INLINE void NAME(load_nodes)(const double *nodes, const int *node, VEC u[NODE_SIZE]) {
  NAME(load_quarters)(nodes, node, u);
  pair e = *(const pair *)NODE(nodes + 4, node[0]), f = *(const pair *)NODE(nodes + 4, node[1]);
  pair g = *(const pair *)NODE(nodes + 4, node[2]), h = *(const pair *)NODE(nodes + 4, node[3]);
  VEC ef = __builtin_shufflevector(e, f, 0, 2, 1, 3),
      gh = __builtin_shufflevector(g, h, 0, 2, 1, 3);
  u[4] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
  u[5] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
}

/* Each lane's numbers as its node has them. */
INLINE void NAME(turn_back)(const VEC u[NODE_SIZE], VEC first[WIDTH], pair last[WIDTH]) {
  NAME(turn)(u[0], u[1], u[2], u[3], first);
  UNROLL for (int l = 0; l < WIDTH; l++) last[l] = (pair){u[4][l], u[5][l]};
}

INLINE void NAME(store_nodes)(double *nodes, const int *node, const VEC u[NODE_SIZE]) {
  VEC first[WIDTH];
  pair last[WIDTH];
  NAME(turn_back)(u, first, last);
  UNROLL for (int l = 0; l < WIDTH; l++) {
    *(VEC *)NODE(nodes, node[l]) = first[l];
    *(pair *)NODE(nodes + 4, node[l]) = last[l];
  }
}

/* One after the other: lanes may name the same node. */
INLINE void NAME(add_to_nodes)(double *nodes, const int *node, const VEC u[NODE_SIZE]) {
  VEC first[WIDTH];
  pair last[WIDTH];
  NAME(turn_back)(u, first, last);
  UNROLL for (int l = 0; l < WIDTH; l++) {
    *(VEC *)NODE(nodes, node[l]) += first[l];
    *(pair *)NODE(nodes + 4, node[l]) += last[l];
  }
}
