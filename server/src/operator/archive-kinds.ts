/** What the commands `retention show` and `retention run` archive. Apart from the work itself, which is loaded on demand. */
export const ARCHIVE_KINDS = ['responses', 'journey', 'deliveries', 'orders', 'audits'] as const

export type ArchiveKind = (typeof ARCHIVE_KINDS)[number]
