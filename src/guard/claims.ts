/** Where uses are counted, for all processes of the service together. */
export interface Claims {
  /**
   * True for the first who claims this id until `untilMs`, false for everyone after. Rejects when
   * the store gives no answer: then nobody knows whether the claim was made.
   */
  claim(id: string, untilMs: number): Promise<boolean>;
}
