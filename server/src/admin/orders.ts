import { affiliateNames } from '../affiliates/affiliates.ts'
import { explain } from '../commissions/explain.ts'
import { explanation } from './explanation.ts'
import { field, input } from './form.ts'
import { html } from './html.ts'
import type { Route, View, Visitor } from './route.ts'
import { like } from './route.ts'
import { empty } from './show.ts'

const PATH = '/admin/orders'

export const orderRoutes: Route[] = [{ path: '/orders', ...like('explainOrder'), show }]

async function show(visitor: Visitor): Promise<View> {
  const id = field(visitor.query, 'id')
  const search = html`<form class="filters" method="get" action="${PATH}">
${input({ name: 'id', label: 'Order id', value: id, required: true, maxlength: 260, placeholder: '1001' })}
<button class="main">Explain</button></form>`
  if (!id) {
    const next = 'Type the id of an order, or follow the link of one on the page of commissions.'
    const body = html`<p class="lead">Why an order earned what it did, and for whom.</p>${search}${empty('No order chosen', next)}`
    return { title: 'Why?', body, showsNothing: true }
  }
  const found = await explain(visitor.ctx, id)
  const candidates = found.evidence.flatMap((kind) => kind.candidates)
  const names = await affiliateNames(
    visitor.ctx,
    candidates.flatMap(({ affiliateId, slugAffiliateId }) =>
      [affiliateId, slugAffiliateId].flatMap((one) => one ?? []),
    ),
  )
  const body = html`${search}${explanation(found, names)}`
  return { title: `Why? Order ${found.externalOrderId}`, body, subjectId: found.orderId }
}
