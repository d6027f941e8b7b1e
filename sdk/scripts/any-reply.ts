/** A body with the documented properties of every success, so that any method accepts it. */
export const anyReply = {
  ok: true,
  message: 'Done.',
  id: 'id_1',
  data: [{ id: 'id_1' }],
  pagination: { page: 1, limit: 20, total: 0, totalPages: 0 },
  totals: {},
  journey: [],
  reasons: [],
  lines: [],
  attribution: {},
  commission: {},
  trace: {},
  outcome: 'applied',
}
