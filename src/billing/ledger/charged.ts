import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { CreditsLedger, Reservation } from "./credits_ledger.ts";
import { parseAmount } from "./ledger_input.ts";

/** What a charged procedure costs, and which account. */
export interface ChargeOptions<Context, Input> {
  /** The credits, or a function of the call. */
  readonly amount: number | ((context: Context, input: Input) => MaybePromise<number>);
  /** The account; the id of the user unless set. */
  readonly account?: ((context: Context, input: Input) => MaybePromise<string>) | undefined;
  /** For the history. */
  readonly reason?: string | undefined;
  /** The longest time that the handler may take; 600,000 unless set. */
  readonly expiresInMs?: number | undefined;
}

/** A caller of a procedure, as far as charges know it. */
export interface CallContext {
  /** Null for an anonymous caller. */
  readonly user: { readonly id: string } | null;
  /** Registers work for the end of the call; absent where the handler is all of it. */
  readonly onEnd?: (work: (isAnswered: boolean) => Promise<void>) => void;
}

/**
 * Wraps the handler of a procedure so that it costs credits: they are reserved before it runs, kept
 * when its output is answered, and returned when it throws or its output is no valid answer, or by
 * themselves where the process ends. Without enough credits the call is a 402 `insufficient-credits`, and the handler does not run.
 *
 * @example
 * ```ts
 * import { charged, openCreditsLedger } from "@svc/resource-api/billing";
 *
 * const credits = await openCreditsLedger({ kv: ":memory:" });
 * await credits.grant("ada", 5);
 * // procedure({ input, output, handler: charged(credits, { amount: 3 }, render) })
 * const render = charged(credits, { amount: 3 }, (_context, text: string) => text.toUpperCase());
 * console.log(await render({ user: { id: "ada" } }, "tea"), await credits.balance("ada")); // TEA 2
 * await credits.close();
 * ```
 */
export function charged<Context extends CallContext, Input, Output>(
  credits: CreditsLedger,
  options: ChargeOptions<Context, Input>,
  handler: (context: Context, input: Input) => MaybePromise<Output>,
): (context: Context, input: Input) => Promise<Output> {
  return async function chargedHandler(context, input) {
    const { reason, expiresInMs } = options;
    const account = await accountOf(options, context, input);
    const amount = parseAmount(
      typeof options.amount === "number" ? options.amount : await options.amount(context, input),
    );
    const { reservation, balance } = await credits.reserve(account, amount, {
      reason,
      expiresInMs,
    });
    if (reservation === null) {
      throw new Problem(
        "insufficient-credits",
        `This costs ${amount} credits, and the account has ${balance}`,
        { details: { cost: amount, balance } },
      );
    }
    const end = async (isAnswered: boolean) => {
      if (isAnswered) return await keep(credits, reservation, { account, amount, reason });
      // Where the store fails now, the credits return by themselves.
      await credits.release(reservation).catch(() => undefined);
    };
    let output: Output;
    try {
      output = await handler(context, input);
    } catch (error) {
      await end(false);
      throw error;
    }
    // The output is still to be validated.
    if (context.onEnd === undefined) await end(true);
    else context.onEnd(end);
    return output;
  };
}

async function keep(
  credits: CreditsLedger,
  reservation: Reservation,
  { account, amount, reason }: {
    readonly account: string;
    readonly amount: number;
    readonly reason: string | undefined;
  },
): Promise<void> {
  const { ok } = await credits.commit(reservation);
  if (ok) return;
  // The work outlived its reservation and is done: it is charged all the same.
  const key = `outlived:${reservation.id}`;
  await credits.consume(account, amount, { reason, key, allowNegative: true });
}

async function accountOf<Context extends CallContext, Input>(
  { account }: ChargeOptions<Context, Input>,
  context: Context,
  input: Input,
): Promise<string> {
  if (account !== undefined) return await account(context, input);
  if (context.user !== null) return context.user.id;
  throw new Problem("unauthorized", "This costs credits: sign in first");
}
