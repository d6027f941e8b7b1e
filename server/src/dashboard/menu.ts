import type { IconName } from './kit/icon.ts'

interface MenuItem {
  /** Relative to `/admin`. */
  path: string
  label: string
  icon: IconName
  owner?: boolean
  /** The key that opens the page, pressed after `g`. */
  key: string
}

export const MENU: { heading: string; items: MenuItem[] }[] = [
  {
    heading: '',
    items: [
      { path: '', label: 'Overview', icon: 'overview', key: 'h' },
      { path: '/orders', label: 'Orders', icon: 'orders', key: 'o' },
      { path: '/commissions', label: 'Commissions', icon: 'commissions', key: 'c' },
      { path: '/affiliates', label: 'Affiliates', icon: 'affiliates', key: 'a' },
      { path: '/customers', label: 'Customers', icon: 'customers', key: 'm' },
      { path: '/programs', label: 'Programs', icon: 'programs', key: 'r' },
      { path: '/coupons', label: 'Coupons', icon: 'coupons', key: 'u' },
      { path: '/payouts', label: 'Payouts', icon: 'payouts', key: 'p', owner: true },
    ],
  },
  {
    heading: 'Developers',
    items: [
      { path: '/journey', label: 'Journeys', icon: 'journeys', key: 'j' },
      { path: '/webhooks', label: 'Webhooks', icon: 'webhooks', key: 'w' },
      { path: '/deliveries', label: 'Deliveries', icon: 'deliveries', key: 'd' },
      { path: '/keys', label: 'API keys', icon: 'keys', key: 'k', owner: true },
    ],
  },
  {
    heading: 'Settings',
    items: [
      { path: '/settings', label: 'Shop', icon: 'settings', key: 's', owner: true },
      { path: '/team', label: 'Team', icon: 'team', key: 't', owner: true },
      { path: '/test-shops', label: 'Test shops', icon: 'test', key: 'e', owner: true },
      { path: '/audit', label: 'Audit log', icon: 'audit', key: 'l', owner: true },
      { path: '/account', label: 'Your account', icon: 'account', key: 'y' },
    ],
  },
]

/** The menu for a user's role. */
export const menuFor = (isOwner: boolean): typeof MENU =>
  MENU.map((group) => ({ ...group, items: group.items.filter(({ owner }) => isOwner || !owner) })).filter(
    ({ items }) => items.length > 0,
  )

/** Pages outside the menu, and other names for pages in it. */
const MORE: Pick<MenuItem, 'path' | 'label' | 'owner'>[] = [
  { path: '/affiliates/new', label: 'New affiliate', owner: true },
  { path: '/programs/new', label: 'New program', owner: true },
  { path: '/payouts/new', label: 'New batch', owner: true },
  { path: '/payouts/reconcile', label: 'Reconcile payments', owner: true },
  { path: '/settings', label: 'Settings', owner: true },
  { path: '/account', label: 'Passkeys and sessions' },
]

/** Pages whose name has a word that starts with the text. Without text, the menu's pages. */
export function pagesFor(isOwner: boolean, text: string): { path: string; label: string }[] {
  const menu = menuFor(isOwner).flatMap(({ items }) => items)
  if (!text) return menu
  const words = ` ${text.toLowerCase()}`
  const more = MORE.filter(({ owner }) => isOwner || !owner)
  return [...menu, ...more].filter(({ label }) => ` ${label.toLowerCase()}`.includes(words))
}
