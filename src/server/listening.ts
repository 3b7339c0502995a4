import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { configError } from "./config-error.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
loopback.addSubnet("::ffff:127.0.0.0", 104, "ipv6");

export function isLoopback(address: string): boolean {
	const version = isIP(address);
	return version !== 0 && loopback.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** Without a token only this machine may call. Names are judged by every address they stand for. */
export async function refuseOpenDoor(host: string, guarded: boolean): Promise<void> {
	if (guarded) return;
	const addresses = isIP(host) ? [host] : await addressesOf(host);
	const outside = addresses.find((address) => !isLoopback(address));
	if (outside === undefined) return;
	throw configError(
		"host",
		`${host} (${outside}) can be reached from other machines and no token is configured; give a token, or listen on 127.0.0.1`,
	);
}

async function addressesOf(host: string): Promise<string[]> {
	try {
		return (await lookup(host, { all: true })).map(({ address }) => address);
	} catch {
		throw configError("host", `${host} is neither an address nor a name that can be resolved`);
	}
}
