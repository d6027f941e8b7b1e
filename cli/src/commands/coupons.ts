import type { AffiliateStatus, Coupon, CouponQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { choice, group, leaf } from '../command.ts'
import { values } from '../contract.ts'
import type { Column } from '../output/render.ts'
import { type ListOptions, pageOptions, printList } from '../read-list.ts'

const COLUMNS: Column<Coupon>[] = [
  'code',
  'affiliateId',
  { field: 'affiliateName', title: 'affiliate' },
  { field: 'affiliateStatus', title: 'status' },
  { field: 'discountValue', title: 'discount', show: showDiscount },
]

function showDiscount({ discountEnabled, discountType, discountValue }: Coupon): string {
  if (!discountEnabled || discountValue === null) return '–'
  return discountType === 'PERCENT' ? `${discountValue} %` : `${discountValue}`
}

export function addCoupons(program: Command): void {
  const coupons = group(program, 'coupons', 'the discount code of each affiliate')
  pageOptions(
    leaf<ListOptions & { affiliate?: string; code?: string; status?: AffiliateStatus }>(coupons, 'list', {
      summary: 'list codes, those of the newest affiliates first',
      output: 'Coupon[]',
      work: async (run, { options }) => {
        const client = await run.client()
        const query = { affiliateId: options.affiliate, code: options.code, status: options.status } as CouponQuery
        await printList(run, options, {
          ask: (paging) => client.coupons.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .option('--affiliate <id>', 'only of this affiliate')
    .option('--code <text>', 'only codes that contain this')
    .addOption(choice('--status <status>', 'only of affiliates in this status', values.AffiliateStatus))

  leaf<{ code?: string }>(coupons, 'assign <affiliateId>', {
    summary: 'give an affiliate a code; a random one without --code',
    output: 'Coupon',
    writes: true,
    examples: ['referral coupons assign aff_… --code NISA16'],
    work: async (run, { options, args: [affiliateId = ''] }) => {
      const body = { affiliateId, ...(options.code !== undefined && { code: options.code }) }
      if (run.dryRun) return run.wouldSend('POST', '/api/v1/coupons', body)
      const coupon = await (await run.client()).coupons.assign(body)
      run.record(coupon)
      for (const warning of coupon.warnings) run.talk.warn(warning.message)
    },
  }).option('--code <code>', 'at most 9 characters, without 0, o and O')
}
