import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const STATEMENTS = 'concepts/statements.md'

const SEPA = { method: 'SEPA', name: 'Zoë Müller', iban: 'DE89370400440532013000', townName: 'Berlin', country: 'DE' }
const PAYPAL = { method: 'PAYPAL', email: 'zoe@conformance.example' }

const payeeOf = ({ id }: Json) => `/affiliates/${id}/payee`
const linesOf = async (t: Context, { id }: Json): Promise<Json> =>
  t.expect(await t.owner('GET', `/payouts/${id}/lines`), 200)
const send = (t: Context, { id: batchId }: Json, fileId: string) =>
  t.owner('PUT', `/payout-files/${fileId}`, { batchId, format: 'paypal' })
const discard = (t: Context, fileId: string) => t.owner('POST', `/payout-files/${fileId}/discard`)
const cancel = (t: Context, { id }: Json) => t.owner('POST', `/payouts/${id}/cancel`)

/** A batch whose only payment, of 16.00, is in a payment file, and its line. */
async function sentBatch(t: Context): Promise<{ batch: Json; fileId: string; line: Json }> {
  const [batch, fileId] = [await t.batch(), t.code()]
  t.expect(await t.owner('PUT', payeeOf(batch.affiliate), PAYPAL), 200)
  t.expect(await send(t, batch, fileId), 200)
  return { batch, fileId, line: (await linesOf(t, batch)).data[0] }
}

/** Reports the result of a payment, and returns what became of it. */
async function report(t: Context, { paymentReference }: Json, outcome: string, more: Json = {}): Promise<string> {
  const { query, ...result } = { paymentReference, outcome, date: '2020-01-02', reference: 'r', ...more }
  const { data } = t.expect(await t.owner('POST', '/payout-lines/reconcile', { results: [result], ...query }), 200)
  return data.results[0].result
}

export const payments = group(
  'payments',
  { title: 'Payments and statements', page: 'concepts/payments.md#states', suite: 'owner', needs: ['owner'] },
  (rule) => {
    payees(rule)
    files(rule)
    reconciling(rule)
    statements(rule)
  },
)

function payees(rule: Define): void {
  rule('payee', 'Payee details are shown masked, replaced, and deleted', async (t) => {
    const path = payeeOf(await t.affiliate())
    for (const [details, account] of [
      [{ ...SEPA, name: ' Zoë Müller ', iban: 'de89 3704 0044 0532 0130 00', bic: 'cobadeff' }, 'DE89…3000'],
      [{ ...PAYPAL, method: 'WISE', name: 'Zoë' }, 'z…@conformance.example'],
      [PAYPAL, 'z…@conformance.example'],
    ] as const) {
      const { data } = t.expect(await t.owner('PUT', path, details), 200)
      t.equal([data.method, data.account], [details.method, account], 'method and account')
      t.equal(t.expect(await t.owner('GET', path), 200).data, data, 'the payee')
    }
    t.expect(await t.owner('DELETE', path), 200)
    t.expect(await t.owner('GET', path), 404, 'payee_not_found')
  })
  rule(
    'payee-invalid',
    'An IBAN or a BIC that cannot be one returns 400 payee_invalid',
    async (t) => {
      const path = payeeOf(await t.sharedAffiliate())
      for (const change of [
        { iban: 'DE88370400440532013000' },
        { iban: 'DE8937040044053201300' },
        { iban: 'TR330006100519786457841326' },
        { bic: 'COBADEF' },
        { bic: 'BNPAFRPP' },
      ])
        t.expect(await t.owner('PUT', path, { ...SEPA, ...change }), 400, 'payee_invalid')
      // A spreadsheet would evaluate it.
      t.expect(await t.owner('PUT', path, { ...PAYPAL, email: '=1+1@x.example' }), 400, 'invalid_body')
    },
    { page: 'reference/errors.md#payee_invalid' },
  )
}

function files(rule: Define): void {
  rule('file', 'A payment file has who can be paid; others are BLOCKED, and can be sent later', async (t) => {
    const [program, day] = [await t.program(), t.day()]
    const [a, b] = [await t.affiliate({ campaignId: program.id }), await t.affiliate({ campaignId: program.id })]
    for (const { discountCode: couponCode } of [a, b])
      await t.order({ amountCents: 10_000, couponCode, occurredAt: day })
    const period = t.periodOf(day, a, { affiliateIds: [a.id, b.id] })
    const batch = t.expect(await t.post('/payouts', period), 200).data
    t.expect(await t.owner('PUT', payeeOf(a), PAYPAL), 200)
    const states = async () =>
      new Map(
        (await linesOf(t, batch)).data.map(({ affiliateId, state, reason }: Json) => [affiliateId, [state, reason]]),
      )
    const before = await states()
    t.equal(
      [before.get(a.id), before.get(b.id)],
      [
        ['READY', null],
        ['BLOCKED', 'no_payee_details'],
      ],
      'the lines',
    )
    const [first, second] = [t.code(), t.code()]
    const file = t.expect(await send(t, batch, first), 200).data
    t.fields(file, { status: 'SENT', lines: 1, totalCents: 1600 }, 'data')
    t.expect(await t.owner('PUT', payeeOf(a), { ...PAYPAL, email: 'new@conformance.example' }), 200)
    t.equal(t.expect(await send(t, batch, first), 200).data, file, 'the same file again')
    t.expect(await t.owner('PUT', payeeOf(b), PAYPAL), 200)
    t.expect(await send(t, batch, second), 200)
    t.equal((await linesOf(t, batch)).totals.SENT, { lines: 2, cents: 3200 }, 'totals.SENT')
    const { data } = t.expect(await t.owner('GET', `/payouts/${batch.id}/files`), 200)
    t.equal(data.map(({ id }: Json) => id).sort(), [first, second].sort(), 'the files of the batch')
    const listed = t.expect(await t.owner('GET', `/payout-files/${first}/lines`), 200)
    t.equal(
      [listed.file, listed.hasMore, listed.data.length],
      [file, false, 1],
      'file, hasMore and the number of lines',
    )
    t.fields(listed.data[0], { affiliateId: a.id, amountCents: 1600, payee: PAYPAL }, 'data[0]')
    await t.pay(batch.id)
  })
  rule(
    'sent',
    'A refund after a payment was sent becomes a debt; line and batch stay, and cannot be canceled',
    async (t) => {
      const { batch, line } = await sentBatch(t)
      const { externalOrderId } = batch
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 5000 }), 200)
      t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 1600, 'commissionAmountCents')
      t.equal((await linesOf(t, batch)).data, [line], 'the lines')
      const debt = (await t.rowsOf(batch.affiliate.id)).find(({ trackingMethod }) => trackingMethod === 'ADJUSTMENT')
      t.fields(debt, { commissionAmountCents: -800, payoutBatchId: null }, 'adjustment')
      t.expect(await cancel(t, batch), 409, 'payout_has_sent_lines')
      const { id } = await t.commissionOf(externalOrderId)
      t.expect(await t.owner('POST', `/commissions/${id}/cancel`), 409, 'commission_move_not_allowed')
      // Who is paid nothing has no line.
      const period = t.periodOf(debt.happenedAt, batch.affiliate)
      const next = t.expect(await t.post('/payouts', period), 200).data
      t.equal((await linesOf(t, next)).data, [], 'the lines of the batch of the debt')
      await t.pay(batch.id)
    },
  )
  rule('sent-and-canceled', 'A cancellation after a payment was sent reverses the commission, and stays', async (t) => {
    const { batch, line } = await sentBatch(t)
    const { externalOrderId } = batch
    t.equal(
      t.expect(await t.post('/cancellations', { externalOrderId }), 200).commissionCents,
      -1600,
      'commissionCents',
    )
    await report(t, line, 'SETTLED')
    t.equal((await t.commissionOf(externalOrderId)).orderStatus, 'REVERSED', 'orderStatus')
    const [paid] = t.expect(await t.get('/payouts', { id: batch.id }), 200).data
    t.equal([paid.status, paid.totals.netPayableCents], ['PAID', 1600], 'status and netPayableCents')
  })
  rule('discarded', 'A file that is discarded makes its lines READY; once reconciled it cannot be', async (t) => {
    const { batch, fileId, line } = await sentBatch(t)
    const gone = t.expect(await discard(t, fileId), 200).data
    t.fields(gone, { status: 'DISCARDED', lines: 0, totalCents: 0 }, 'data')
    t.equal(t.expect(await discard(t, fileId), 200).data, gone, 'the second response')
    t.equal((await linesOf(t, batch)).totals.READY, { lines: 1, cents: 1600 }, 'totals.READY')
    t.equal(await report(t, line, 'SETTLED'), 'unknown', 'result')
    t.expect(await send(t, batch, fileId), 409, 'payout_file_exists')
    const next = t.code()
    t.expect(await send(t, batch, next), 200)
    const [again] = (await linesOf(t, batch)).data
    t.equal(again.paymentReference, line.paymentReference, 'paymentReference')
    await report(t, again, 'SETTLED')
    t.expect(await discard(t, next), 409)
    t.expect(await discard(t, t.code()), 404, 'payout_file_not_found')
  })
  rule(
    'not-uploaded',
    'After a file was discarded, a refund lowers the commission, and the batch can be canceled',
    async (t) => {
      const { batch, fileId } = await sentBatch(t)
      const { externalOrderId } = batch
      t.expect(await discard(t, fileId), 200)
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 5000 }), 200)
      t.equal((await linesOf(t, batch)).data[0]?.amountCents, 800, 'amountCents')
      t.expect(await cancel(t, batch), 200)
    },
  )
}

function reconciling(rule: Define): void {
  const page = 'concepts/payments.md#reconcile'
  rule(
    'settled',
    'A settled payment pays its commissions, and the last one the batch; the same result again changes nothing',
    async (t) => {
      const { batch, line } = await sentBatch(t)
      t.equal(await report(t, line, 'SETTLED', { query: { dryRun: true } }), 'settled', 'result of a dry run')
      t.equal((await linesOf(t, batch)).data, [line], 'the lines after a dry run')
      t.equal(await report(t, line, 'SETTLED'), 'settled', 'result')
      t.fields((await linesOf(t, batch)).data[0], { state: 'SETTLED', date: '2020-01-02', reference: 'r' }, 'line')
      t.equal((await t.commissionOf(batch.externalOrderId)).orderStatus, 'PAID', 'orderStatus')
      t.equal(t.expect(await t.get('/payouts', { id: batch.id }), 200).data[0].status, 'PAID', 'status')
      t.equal(
        [await report(t, line, 'SETTLED'), await report(t, line, 'SETTLED', { reference: 'another' })],
        ['already_settled', 'settled_twice'],
        'results',
      )
    },
    { page },
  )
  rule(
    'returned',
    'A returned payment, settled or not, is payable once more in the next batch, and stays returned',
    async (t) => {
      const { batch, line } = await sentBatch(t)
      await report(t, line, 'SETTLED')
      const results = []
      for (const outcome of ['RETURNED', 'RETURNED', 'SETTLED'])
        results.push(await report(t, line, outcome, { reason: 'AC04' }))
      t.equal(results, ['returned', 'already_returned', 'already_returned'], 'results')
      t.fields((await linesOf(t, batch)).data[0], { state: 'RETURNED', reason: 'AC04' }, 'line')
      const adjustment = (await t.rowsOf(batch.affiliate.id)).find((row) => row.trackingMethod === 'ADJUSTMENT')
      t.equal(adjustment?.orderId, `adj:${line.id}:returned`, 'orderId of the adjustment')
      const from = new Date(Date.now() - 86_400_000).toISOString()
      const period = t.periodOf(from, batch.affiliate, { periodEnd: '2099-01-01' })
      const next = t.expect(await t.post('/payouts', period), 200).data
      t.equal([next.totals.commissions, next.totals.netPayableCents], [1, 1600], 'commissions and netPayableCents')
      await t.pay(next.id)
      t.expect(await t.post('/payouts', period), 404, 'no_eligible_commissions')
    },
    { page },
  )
  rule(
    'mismatch',
    'A result that is unknown, or of another amount or currency, is reported and changes nothing',
    async (t) => {
      const { batch, line } = await sentBatch(t)
      t.equal(
        [
          await report(t, { paymentReference: 'invoice 17' }, 'SETTLED'),
          await report(t, line, 'SETTLED', { amountCents: 1599 }),
          await report(t, line, 'RETURNED', { currency: 'JPY' }),
        ],
        ['unknown', 'amount_mismatch', 'amount_mismatch'],
        'results',
      )
      t.equal((await linesOf(t, batch)).data, [line], 'the lines')
      await t.pay(batch.id)
    },
    { page },
  )
  rule(
    'paid-by-hand',
    'Paying a batch settles its lines with the reference manual; a bank may still return them',
    async (t) => {
      const { batch, line } = await sentBatch(t)
      await t.pay(batch.id)
      t.fields((await linesOf(t, batch)).data[0], { state: 'SETTLED', reference: 'manual' }, 'line')
      t.equal(await report(t, line, 'SETTLED'), 'settled', 'result')
    },
  )
}

function statements(rule: Define): void {
  const sold = async (t: Context) => {
    const [affiliate, externalOrderId] = [await t.affiliate({ name: '=Zoë' }), t.id('o')]
    const order = { externalOrderId, amountCents: 10_000, couponCode: affiliate.discountCode }
    await t.order({ ...order, occurredAt: '2001-05-15T12:00:00Z' })
    const refund = {
      externalOrderId,
      externalRefundId: t.id('r'),
      amountCents: 2500,
      occurredAt: '2001-05-16T12:00:00Z',
    }
    t.expect(await t.post('/refunds', refund), 200)
    return affiliate
  }
  rule(
    'statement',
    'A statement has the orders and refunds of a month, and opens with the balance of the month before',
    async (t) => {
      const { id } = await sold(t)
      const read = (month: string) => t.owner('GET', `/affiliates/${id}/statement`, undefined, { month })
      const [may, june] = [t.expect(await read('2001-05'), 200), t.expect(await read('2001-06'), 200)]
      t.equal(
        may.lines.map(({ kind, amountCents, balanceCents }: Json) => [kind, amountCents, balanceCents]),
        [
          ['ORDER', 1600, 1600],
          ['REFUND', -400, 1200],
        ],
        'kind, amountCents and balanceCents of the lines',
      )
      t.fields(may.currencies[0], { openingCents: 0, closingCents: 1200 }, 'currencies[0] of May')
      t.fields(june.currencies[0], { openingCents: 1200, closingCents: 1200 }, 'currencies[0] of June')
      t.equal(june.lines, [], 'lines of June')
      t.expect(await read('2001-13'), 400, 'invalid_parameter')
    },
    { page: STATEMENTS },
  )
  rule(
    'statement-files',
    'A statement and the ledger of a month are CSV files that a spreadsheet does not evaluate',
    async (t) => {
      const { id } = await sold(t)
      const file = (path: string, query: Json) => t.owner('GET', path, undefined, { month: '2001-05', ...query })
      const statement = await file(`/affiliates/${id}/statement/file`, { format: 'csv' })
      const ledger = await file('/ledger', {})
      for (const reply of [statement, ledger]) {
        t.expect(reply, 200)
        t.ok(/^text\/csv/.test(reply.headers.get('Content-Type') ?? ''), 'Content-Type must be text/csv')
        t.ok(!/(^|[,"\n])=/.test(reply.text), `a cell begins with =: ${reply.text.slice(0, 300)}`)
      }
      const own = ledger.text.split('\r\n').filter((line) => line.includes(id))
      t.equal(own.length, 2, 'the number of rows of the affiliate')
      const html = await file(`/affiliates/${id}/statement/file`, { format: 'html' })
      t.ok(/^text\/html/.test(html.headers.get('Content-Type') ?? ''), 'Content-Type must be text/html')
    },
    { page: STATEMENTS },
  )
}
