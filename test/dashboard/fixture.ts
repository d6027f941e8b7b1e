import { expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import { testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Fields, noticeOf, type Opened, visitorOf, wordsOf } from './visitor.ts'

/** A name with markup. */
export const HOSTILE = `Mira "x" <script>alert('1')</script> & <b>`

/** Headers that browsers send with requests from other sites. */
export const FOREIGN: Record<string, string>[] = [
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { Origin: 'https://evil.example' },
  { Origin: 'null' },
]

export const codeOf = ({ status, headers }: Opened) => [status, headers.get('X-Error-Code')]

/** The ids that a list offers for selection. */
export const selectable = (text: string) => [...text.matchAll(/name="ids" value="(\w+)"/g)].map(([, id]) => id ?? '')

export type PageShop = Awaited<ReturnType<typeof openPageShop>>

/** A shop with a signed-in owner and staff member, whose orders need approval. */
export async function openPageShop() {
  const server = await testServer()
  const owner = visitorOf(server)
  const staff = visitorOf(server)
  await owner.signIn()
  await staff.signIn(await staffOf(server))
  const { affiliate } = await withAffiliate(server, { program: { autoApproveOrder: false } })
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { name: HOSTILE } }))
  const audits = () => rowsOf(server, 'audits').map(({ action, actor, subjectId }) => ({ action, actor, subjectId }))
  let made = 0
  /** Reports an order and returns the id of its commission. */
  const order = async (body: object = {}) => {
    const sent = { externalOrderId: `p-${++made}`, amountCents: 10_000, couponCode: 'NISA16', ...body }
    return (await expectOk(convert(server, sent))).commission.id as string
  }
  /** Sends a form as the owner, and returns where it leads and the message there. */
  const done = async (path: string, fields: Fields) => {
    const sent = await owner.submit(`/admin${path}`, fields)
    expect([path, sent.status, noticeOf(sent)]).toEqual([path, 303, ''])
    const to = sent.headers.get('Location') ?? ''
    return { to, notice: noticeOf(await owner.open(to)) }
  }
  return {
    server,
    done,
    words: async (path: string) => wordsOf((await owner.open(`/admin${path}`)).text),
    api: async (path: string) => expectOk(server.request('GET', `/api/v1${path}`)),
    owner,
    staff,
    affiliateId: affiliate.id as string,
    audits,
    lastAudit: () => audits().at(-1)?.action,
    order,
  }
}
