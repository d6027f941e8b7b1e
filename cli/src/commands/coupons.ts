import type { AffiliateStatus, Coupon, CouponQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { choiceOption, defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import type { Column } from '../output/render.ts'
import { addPageOptions, type ListOptions, printList } from '../read-list.ts'

const COLUMNS: Column<Coupon>[] = [
  'code',
  'affiliateId',
  { field: 'affiliateName', title: 'affiliate' },
  { field: 'affiliateStatus', title: 'status' },
  { field: 'discountValue', title: 'discount', format: showDiscount },
]

function showDiscount({ discountEnabled, discountType, discountValue }: Coupon): string {
  if (!discountEnabled || discountValue === null) return '–'
  return discountType === 'PERCENT' ? `${discountValue} %` : `${discountValue}`
}

export function addCoupons(program: Command): void {
  const coupons = defineGroup(program, 'coupons', 'the discount code of each affiliate')
  addPageOptions(
    defineCommand<ListOptions & { affiliate?: string; code?: string; status?: AffiliateStatus }>(coupons, 'list', {
      summary: 'list codes, those of the newest affiliates first',
      output: 'Coupon[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { affiliateId: options.affiliate, code: options.code, status: options.status } as CouponQuery
        await printList(run, options, {
          fetchPage: (paging) => client.coupons.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .option('--affiliate <id>', 'only of this affiliate')
    .option('--code <text>', 'only codes that contain this')
    .addOption(choiceOption('--status <status>', 'only of affiliates in this status', enums.AffiliateStatus))

  defineCommand<{ code?: string }>(coupons, 'assign <affiliateId>', {
    summary: 'give an affiliate a code; a random one without --code',
    output: 'Coupon',
    writes: true,
    examples: ['referral coupons assign aff_… --code NISA16'],
    action: async (run, { options, args: [affiliateId = ''] }) => {
      const body = { affiliateId, ...(options.code !== undefined && { code: options.code }) }
      if (run.dryRun) return run.printDryRun('POST', '/api/v1/coupons', body)
      const coupon = await (await run.client()).coupons.assign(body)
      run.printRecord(coupon)
      for (const warning of coupon.warnings) run.reporter.warn(warning.message)
    },
  }).option('--code <code>', 'at most 9 characters, without 0, o and O')
}
