/** Units of each limit, by the limit's name. */
export type CostByName = Readonly<Record<string, number>>;

/** Units: one number for every limit, or a number for each limit by name. */
export type Cost = number | CostByName;

/** Units in the same form as a cost: by name, or one number. */
export type UnitsFor<C extends Cost> = C extends number ? number : CostByName;
