/** Units of each limit, by the limit's name. */
export type CostByName = Readonly<Record<string, number>>;

/** Units: as many of each limit, or of each limit its own. */
export type Cost = number | CostByName;

/** Units in the form in which others were given: by name, or one number. */
export type UnitsAs<C extends Cost> = C extends number ? number : CostByName;
