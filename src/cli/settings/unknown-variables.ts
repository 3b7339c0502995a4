import { distance } from "../nearest.ts";
import type { Environment } from "../terminal.ts";
import { CLIENT_SETTINGS } from "./client-settings.ts";
import { SERVER_SETTINGS } from "./server-settings.ts";

const PREFIX = "FF_";
/** What tests of FlowFabric itself are told. */
const OF_TESTS = "FF_TEST_";

const KNOWN: readonly string[] = [...Object.values(SERVER_SETTINGS), ...Object.values(CLIENT_SETTINGS)].map(
	({ env }) => env,
);

/** A sentence for each variable that looks like a setting and is none, as a misspelt one; its value is nobody's business. */
export function unknownVariables(env: Environment): string[] {
	return Object.keys(env)
		.filter((name) => name.startsWith(PREFIX) && !name.startsWith(OF_TESTS) && !KNOWN.includes(name) && env[name])
		.sort()
		.map((name) => `${shown(name)} is set, but no setting has this name; the nearest is ${nearestOf(name)}`);
}

const shown = (name: string): string => (/^[\w.-]{1,100}$/.test(name) ? name : JSON.stringify(name.slice(0, 100)));

function nearestOf(name: string): string {
	const wanted = name.toUpperCase().slice(0, 100);
	// One that only lacks its end, or has something behind it, is nearer than any that differs within.
	const away = (known: string) => (known.startsWith(wanted) || wanted.startsWith(known) ? 1 : distance(wanted, known));
	const near = KNOWN.map((known) => ({ known, away: away(known) }));
	return near.reduce((best, next) => (next.away < best.away ? next : best)).known;
}
