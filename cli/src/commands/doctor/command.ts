import type { Command } from 'commander'
import { defineCommand } from '../../command.ts'

export function addDoctor(program: Command): void {
  defineCommand(program, 'doctor', {
    summary: 'diagnose the connection to the service',
    details:
      'Checks the URL, the key, the plan, the scopes, the clock, the rate limit, the webhook receivers, disabled subscriptions, failed deliveries (with an owner token), the totals of the latest payout batches, and approved commissions from before last month that are in no batch. Sends about 20 requests and changes nothing. Exits with 4 when the key or the plan is rejected, 7 when the service does not respond, 8 when another check fails.',
    output: 'DoctorReport',
    action: async (run) => (await import('./doctor.ts')).doctor(run),
  })
}
