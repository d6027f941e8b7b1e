/** Where a webhook goes. Its path may hold a secret of the receiver, so only owners see more than the host. */
export const endpoint = (url: string, isOwner: boolean): string => {
  if (isOwner || !URL.canParse(url)) return isOwner ? url : '–'
  return new URL(url).host
}
