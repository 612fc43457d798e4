/** One object type in the place of an intersection, as an editor shows it. */
export type Flat<Type> = { [Name in keyof Type]: Type[Name] };
