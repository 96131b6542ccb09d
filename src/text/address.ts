/** The address of a database without its password. Returns a placeholder for a text that is no address. */
export const withoutPassword = (address: string): string => {
  if (!URL.canParse(address)) return '(not an address)';
  const url = new URL(address);
  url.password = '';
  for (const name of Array.from(url.searchParams.keys())) if (/pass|key/i.test(name)) url.searchParams.delete(name);
  return url.href;
};
