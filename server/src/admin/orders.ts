import { affiliateNames } from '../affiliates/affiliates.ts'
import { explain } from '../commissions/explain.ts'
import { explanation } from './explanation.ts'
import { field, input } from './form.ts'
import { html } from './html.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf } from './route.ts'
import { empty } from './show.ts'

const PATH = '/admin/orders'

export const orderRoutes: Route[] = [{ path: '/orders', ...rolesAndAuditOf('explainOrder'), show }]

async function show(request: PageRequest): Promise<View> {
  const id = field(request.query, 'id')
  const search = html`<form class="filters" method="get" action="${PATH}">
${input({ name: 'id', label: 'Order id', value: id, required: true, maxlength: 260, placeholder: '1001' })}
<button class="main">Explain</button></form>`
  if (!id) {
    const next = 'Enter an order id, or follow a link on the commissions page.'
    const body = html`<p class="lead">Shows how an order was attributed and how its commission was calculated.</p>${search}${empty('No order selected', next)}`
    return { title: 'Explain an order', body, isEmpty: true }
  }
  const found = await explain(request.ctx, id)
  const candidates = found.evidence.flatMap((kind) => kind.candidates)
  const names = await affiliateNames(
    request.ctx,
    candidates.flatMap(({ affiliateId, slugAffiliateId }) =>
      [affiliateId, slugAffiliateId].flatMap((one) => one ?? []),
    ),
  )
  const body = html`${search}${explanation(found, names)}`
  return { title: `Order ${found.externalOrderId}`, body, subjectId: found.orderId }
}
