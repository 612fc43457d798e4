import { type HourlyCounters, networkOfAddress } from "../accounts/login_limiter.ts";

/** How many mails of one kind an address receives in an hour, so that it is not flooded. */
export const maxMailsAnHour = 5;

/** The higher hourly limit, for a mail that is the first of its source (see {@link countMail}). */
export const maxFirstMailsAnHour = 20;

/** Counts a mail. Returns true if it may be sent. A source's first mail has a higher limit. */
export async function countMail(
  counters: HourlyCounters,
  kind: "signup-mail" | "reset-mail",
  { email, source }: { readonly email: string; readonly source: string },
): Promise<boolean> {
  const ofSource = await counters.add(
    `${kind} of a source`,
    `${networkOfAddress(source)} ${email}`,
  );
  const limit = ofSource === 1 ? maxFirstMailsAnHour : maxMailsAnHour;
  const [sent = 0] = await counters.read(kind, [email]);
  // A mail that is not sent does not count for the address, so other sources can still send mails.
  return sent < limit && await counters.add(kind, email) <= limit;
}
