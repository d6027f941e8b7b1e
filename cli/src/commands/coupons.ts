import type { AffiliateStatus, Coupon, CouponQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { addPageOptions, type ListOptions, printList } from '../list.ts'
import { choiceOption } from '../options.ts'
import type { Column } from '../output/render.ts'

const COLUMNS: Column<Coupon>[] = [
  'code',
  'affiliateId',
  { field: 'affiliateName', title: 'affiliate' },
  { field: 'affiliateStatus', title: 'status' },
  { field: 'discountValue', title: 'discount', format: showDiscount },
]

function showDiscount({ discountEnabled, discountType, discountValue }: Coupon): string {
  if (!discountEnabled || discountValue === null) return '–'
  return discountType === 'PERCENT' ? `${discountValue}%` : `${discountValue}`
}

export function addCoupons(program: Command): void {
  const coupons = defineGroup(program, 'coupons', 'manage the discount codes of affiliates')
  addPageOptions(
    defineCommand<ListOptions & { affiliate?: string; code?: string; status?: AffiliateStatus }>(coupons, 'list', {
      summary: 'list discount codes, newest affiliates first',
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
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--code <text>', 'filter by part of a code')
    .addOption(choiceOption('--status <status>', 'filter by affiliate status', enums.AffiliateStatus))

  defineCommand<{ code?: string }>(coupons, 'assign <affiliateId>', {
    summary: 'assign a discount code to an affiliate, random if --code is omitted',
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
  }).option('--code <code>', 'at most 9 characters, without 0, o or O')
}
