import { type HourlyCounters, networkOfAddress } from "../accounts/login_limiter.ts";

/** Maximum number of e-mails of one kind to one address in an hour, to prevent flooding. */
export const maxMailsAnHour = 5;

export const maxFirstMailsAnHour = 20;

/** Counts an e-mail. Returns true if the e-mail may be sent. `source` is the client's address. */
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
  // Counts no refused e-mails, so that other networks can still request e-mails to the address.
  return sent < limit && await counters.add(kind, email) <= limit;
}
