import { storeSuite } from "./store-suite.ts";
import { stores } from "./stores.ts";

for (const row of stores) storeSuite(row);
