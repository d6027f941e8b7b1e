import type { components } from '../../contract/schema.d.ts'
import * as affiliates from '../../domains/affiliates/affiliates.ts'
import { form, input, limitsOf, select } from '../kit/form.ts'
import { type Html, html } from '../kit/html.ts'
import { OWNER_ONLY, type PageRequest, type Route, type View, validateBody } from '../kit/route.ts'
import { programOptions } from '../kit/select-options.ts'
import { nameOf } from '../kit/status.ts'

type Affiliate = components['schemas']['Affiliate']

const LIST = '/admin/affiliates'

export const affiliateEditRoutes: Route[] = [
  { path: '/affiliates/:id/edit', roles: OWNER_ONLY, audit: 'affiliate.shown', show: edit },
  { path: '/affiliates/:id/edit', roles: OWNER_ONLY, act: change, page: edit },
]

const PROFILE = {
  name: { label: 'Name', required: true },
  email: { label: 'Email', type: 'email', required: true },
  firstName: { label: 'First name' },
  lastName: { label: 'Last name' },
  phone: { label: 'Phone' },
} as const
const CHANNELS = {
  website: { label: 'Website' },
  instagramHandle: { label: 'Instagram' },
  tiktokHandle: { label: 'TikTok' },
  youtubeHandle: { label: 'YouTube' },
} as const
const ADDRESS = {
  homeAddress: { label: 'Street' },
  homePostalCode: { label: 'Postal code' },
  homeCity: { label: 'City' },
  homeState: { label: 'State' },
  homeCountry: { label: 'Country' },
} as const
/** The form has every field that the API changes. Empty optional fields become null. */
const FIELDS = { ...PROFILE, ...CHANNELS, ...ADDRESS, campaignId: {}, status: {} } satisfies Record<
  keyof components['schemas']['AffiliateUpdate'],
  object
>
type Field = keyof typeof FIELDS

async function edit(request: PageRequest): Promise<View> {
  const affiliate = await affiliates.findUnarchived(request.ctx, request.params.id ?? '')
  const { form: submitted } = request
  const value = (name: keyof Affiliate) => (submitted.size ? (submitted.get(name) ?? '') : (affiliate[name] ?? ''))
  const programs = await programOptions(request)
  const group = (name: string, fields: Partial<Record<Field, { label: string }>>, more: Html | Html[] = []) =>
    html`<fieldset><legend>${name}</legend><div class="fields">${(Object.entries(fields) as [Field, { label: string }][]).map(([name, field]) => input(request, { ...field, ...limitsOf('updateAffiliate', name), name, value: value(name) }))}${more}</div></fieldset>`
  return {
    title: `Edit ${affiliate.name}`,
    crumb: { to: `${LIST}/${affiliate.id}`, text: affiliate.name },
    subjectId: affiliate.id,
    body: html`<section class="card">${form(
      request,
      `${LIST}/${affiliate.id}/edit`,
      html`${group('Profile', PROFILE)}
${group('Program', {}, [
  select(
    'campaignId',
    'Program',
    [...(affiliate.campaignId ? [] : [['', 'none'] as const]), ...programs],
    value('campaignId'),
  ),
  select(
    'status',
    'Status',
    (['PENDING', 'APPROVED', 'ACTIVE', 'REJECTED'] as const).map((status) => [status, nameOf(status)] as const),
    value('status'),
  ),
])}
${group('Channels', CHANNELS)}${group('Address', ADDRESS)}
<div class="sticky"><button class="main">Save</button> <a class="button" href="${LIST}/${affiliate.id}">Back</a></div>`,
    )}</section>`,
  }
}

async function change(request: PageRequest) {
  const { ctx, form } = request
  const affiliate = await affiliates.findUnarchived(request.ctx, request.params.id ?? '')
  const body: Record<string, unknown> = {}
  for (const name of Object.keys(FIELDS) as Field[]) {
    if (!form.has(name)) continue
    const text = form.get(name)?.trim() ?? ''
    // Unchanged fields are not sent, so that this form does not overwrite changes made elsewhere.
    if (text !== (affiliate[name] ?? '')) body[name] = text === '' && name !== 'name' && name !== 'email' ? null : text
  }
  await affiliates.update(ctx, affiliate.id, validateBody('updateAffiliate', body))
  return { to: `${LIST}/${affiliate.id}`, flash: { text: 'Affiliate saved.' } }
}
