import type { Command } from 'commander'
import { defineCommand } from '../command.ts'

export function addDoctor(program: Command): void {
  defineCommand(program, 'doctor', {
    summary: 'look for what is wrong between here and the service',
    details:
      'Address, key, plan, scopes, clock, rate limit, receivers of webhooks, whether the totals of the latest payout batches are the sums of their commissions, and whether approved commissions from before last month are in no batch. Takes about 20 requests and changes nothing. Ends with 4 when the key or the plan is refused, 7 when nothing answers, 8 when something else failed.',
    output: 'DoctorReport',
    action: async (run) => (await import('../doctor/doctor.ts')).doctor(run),
  })
}
