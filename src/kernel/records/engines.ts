import { list, number, part, type Shapes, table, text } from "../shape.ts";
import { type Key, makeRecord } from "./record.ts";

/** What an engine last said of itself. */
export interface EngineSeen {
	/** It lives until then, unless it says so again. */
	until: number;
	/** The lanes for which workers have lately claimed from it. */
	claims: readonly string[];
	/** What its scanners are restricted to, by name; left out when they are not. */
	scannerFilter?: string;
}

/**
 * The engines that work on this store. One record for all of them: each beat of one would otherwise have to read as many
 * records as there are engines, all of which have changed since its last.
 */
export interface EnginesRecord {
	engines: Readonly<Record<string, EngineSeen>>;
}

export const enginesDefaults: EnginesRecord = { engines: {} };

export const enginesShapes: Shapes<EnginesRecord> = {
	engines: table(part({ until: number, claims: list(text) }, { scannerFilter: text })),
};

export const ENGINES_KEY: Key<EnginesRecord> = "engines";

/** It lives in the first partition, however many there are. */
export const ENGINES_SLOT = 0;

export const makeEngines = (fields: Partial<EnginesRecord>): EnginesRecord => makeRecord(enginesDefaults, fields);
