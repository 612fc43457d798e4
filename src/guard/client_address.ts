/**
 * Returns the client's address, or null. Trusts one entry of `X-Forwarded-For` for each own proxy,
 * from the end, because clients can write the others. With fewer entries, uses the connection.
 */
export function clientAddress(
  headers: Headers,
  socketAddress: string | null,
  trustedProxies: number,
): string | null {
  const forwarded = trustedProxies === 0 ? null : forwardedFor(headers, trustedProxies);
  return forwarded ?? socketAddress;
}

/** Returns the group that shares limits: an IPv4 address, an IPv6 /64, or all invalid addresses. */
export function addressGroup(address: string | null): string {
  if (address === null) return unknownAddressGroup;
  if (ipv4.test(address)) return address;
  const groups = ipv6Groups(address);
  if (groups === null) return unknownAddressGroup;
  const mapped = mappedIpv4(groups);
  return mapped ?? `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64`;
}

export const unknownAddressGroup = "unknown";

function forwardedFor(headers: Headers, trustedProxies: number): string | null {
  const entries = headers.get("x-forwarded-for")?.split(",") ?? [];
  if (entries.length < trustedProxies) return null;
  // Some proxies append the port.
  const entry = entries.at(-trustedProxies)?.trim() ?? "";
  const [, v6, v4] = /^\[([^\]]*)\](?::\d{1,5})?$|^([\d.]+):\d{1,5}$/.exec(entry) ?? [];
  const address = v6 ?? v4 ?? entry;
  return ipv4.test(address) || ipv6Groups(address) !== null ? address : null;
}

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Parses an IPv6 address in any spelling to eight numbers, without its zone. */
function ipv6Groups(text: string): readonly number[] | null {
  const [address = ""] = text.split("%", 1);
  // `URL` writes the address in its shortest form, in which only `::` omits groups.
  const url = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]`) : null;
  if (url === null) return null;
  const [head = [], tail = []] = url.hostname.slice(1, -1).split("::")
    .map((part) => part === "" ? [] : part.split(":").map((group) => parseInt(group, 16)));
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** Returns the IPv4 address in `::ffff:192.0.2.1`, the form that dual-stack sockets report. */
function mappedIpv4(groups: readonly number[]): string | null {
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!isMapped) return null;
  return groups.slice(6).flatMap((group) => [group >> 8, group & 255]).join(".");
}
