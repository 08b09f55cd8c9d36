// Finds a Vulkan for the WebGPU tests: a graphics card's own, or SwiftShader, a Vulkan in software that Debian's chromium package carries.
import { existsSync, readdirSync } from 'node:fs'

const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json'
const SYSTEM_FOLDERS = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d']

/**
 * Why WebGPU cannot be tested on this machine, or undefined when it can. Without a choice of the person's, SwiftShader is taken before a
 * card: its results are the same everywhere. Must run before the first device is created. Under CI=true nothing may be absent: it throws.
 */
export function webgpuAbsence(): string | undefined {
  const reason = lookForVulkan()
  if (reason !== undefined && process.env['CI'] === 'true') throw new Error(`CI tests WebGPU, but ${reason}`)
  return reason
}

function lookForVulkan(): string | undefined {
  // Windows and macOS have Direct3D and Metal.
  if (process.platform !== 'linux') return undefined
  const chosen = process.env['VK_ICD_FILENAMES'] ?? process.env['VK_DRIVER_FILES']
  if (chosen !== undefined) return chosen.split(':').some((file) => existsSync(file)) ? undefined : `the Vulkan driver file ${chosen} is not there`
  if (existsSync(SWIFTSHADER)) {
    process.env['VK_ICD_FILENAMES'] = SWIFTSHADER
    return undefined
  }
  if (SYSTEM_FOLDERS.some((folder) => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.json') && !name.startsWith('lvp_')))) return undefined
  return `there is no Vulkan driver here (on Debian: apt-get install libvulkan1 chromium, whose ${SWIFTSHADER} is one in software)`
}
