import { serverAddress } from "../../contract/server-address.ts";

/** How values of settings and flags are read; undefined for what is not allowed. */

export function wholeNumber(low: number, high: number): (text: string) => number | undefined {
	return (text) => {
		if (!/^\d{1,16}$/.test(text)) return undefined;
		const value = Number(text);
		return value >= low && value <= high ? value : undefined;
	};
}

export function oneOf<const T extends string>(names: readonly T[]): (text: string) => T | undefined {
	return (text) => names.find((name) => name === text);
}

export function truth(text: string): boolean | undefined {
	return text === "true" ? true : text === "false" ? false : undefined;
}

/** Texts separated by commas, each of which must be valid. */
export function listOf(isValid: (each: string) => boolean): (text: string) => string[] | undefined {
	return (text) => {
		const listed = text.split(",").map((each) => each.trim());
		return listed.every(isValid) ? listed : undefined;
	};
}

/** Origins as browsers send them: scheme, host and port, nothing behind. */
export const origins = listOf((each) => each === "*" || isOrigin(each));

function isOrigin(text: string): boolean {
	return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Addresses of servers. */
export const httpUrls = listOf((each) => serverAddress(each) !== undefined);

/** What can stand in an Authorization header. */
export function token(minLength: number): (text: string) => string | undefined {
	return (text) => (/^[\x21-\x7e]{1,1024}$/.test(text) && text.length >= minLength ? text : undefined);
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const DURATION_ALLOWED = "must be a duration such as 500ms, 10s, 5m, 2h or 1d";

/** Milliseconds; a bare number is milliseconds already. */
export function duration(text: string): number | undefined {
	const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
	const unit = UNITS[match?.[2] ?? "ms"];
	return match && unit !== undefined ? Math.round(Number(match[1]) * unit) : undefined;
}

/** What people mean by a number alone differs, so it is asked for. Nothing is nothing in any unit. */
export const lacksUnit = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text) && Number(text) !== 0;

export const unitAsked = (text: string): string => `needs a unit: ${text}s, ${text}m or ${text}h?`;
