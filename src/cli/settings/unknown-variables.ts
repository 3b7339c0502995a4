import { nearestName } from "../../contract/nearest-name.ts";
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
		.map(
			(name) =>
				`${shown(name)} is set, but no setting has this name; the nearest is ${nearestName(name.toUpperCase(), KNOWN)}`,
		);
}

const shown = (name: string): string => (/^[\w.-]{1,100}$/.test(name) ? name : JSON.stringify(name.slice(0, 100)));
