import type { KeyValue } from "../../kv/key_value.ts";
import type { BillingProvider } from "../providers/billing_provider.ts";
import { billingKeys } from "./billing_keys.ts";

/**
 * The links between the accounts of a service and the customers of a provider, as its events have
 * named both together: later ones, of renewals, may name the customer alone.
 */
export class AccountLinks {
  readonly #provider: string;
  readonly #isShared: boolean;
  readonly #store: KeyValue;

  /** Makes no call yet. */
  constructor(
    { name, findsCustomerByEmail = false }: Pick<BillingProvider, "name" | "findsCustomerByEmail">,
    store: KeyValue,
  ) {
    this.#provider = name;
    this.#isShared = findsCustomerByEmail;
    this.#store = store;
  }

  /** The account of a customer. */
  async accountOf(customerId: string): Promise<string | undefined> {
    return textOf(await this.#store.get(billingKeys.accountOf(this.#provider, customerId)));
  }

  /** The customer of an account. */
  async customerOf(accountId: string): Promise<string | undefined> {
    return textOf(await this.#store.get(billingKeys.customerOf(this.#provider, accountId)));
  }

  /**
   * Remembers that a customer pays for an account; the last one counts. Where a buyer of another
   * account can enter the address of a customer, the customer stays with its account, until a payment
   * that is proven to be of another one.
   */
  async remember(accountId: string, customerId: string, isProven: boolean): Promise<void> {
    const keys = [
      billingKeys.accountOf(this.#provider, customerId),
      billingKeys.customerOf(this.#provider, accountId),
    ];
    const [account, customer] = await this.#store.getMany(keys);
    if (account?.value === accountId && customer?.value === customerId) return;
    const isOfAnother = account?.value !== undefined && account.value !== accountId;
    if (this.#isShared && isOfAnother && !isProven) return;
    await this.#store.commit({
      mutations: [accountId, customerId].flatMap((value, index) => {
        const key = keys[index];
        return key === undefined ? [] : [{ kind: "set", key, value } as const];
      }),
    });
  }
}

function textOf({ value }: { readonly value: unknown }): string | undefined {
  return typeof value === "string" ? value : undefined;
}
