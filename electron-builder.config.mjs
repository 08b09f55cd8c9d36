// What electron-builder makes of dist/stage (packaging/stage.mjs lays it out). `npm run package` uses it.
import { join } from 'node:path'
import { root } from './eslint.rooms.js'

const stageFolder = 'dist/stage'

/**
 * Everything an attacker on the same machine could use to make a signed Satchel run another program is off. Cookies are not encrypted because
 * the app keeps none, and macOS would ask for the keychain. Archive integrity is checked on Windows and macOS; Electron has no check on Linux.
 */
export const fuses = {
  runAsNode: false,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  enableCookieEncryption: false,
  enableEmbeddedAsarIntegrityValidation: true,
  onlyLoadAppFromAsar: true,
  loadBrowserProcessSpecificV8Snapshot: false,
  grantFileProtocolExtraPrivileges: false,
}

/** @type {import('electron-builder').Configuration} */
export default {
  appId: 'app.satchel.desktop',
  productName: 'Satchel',
  copyright: 'Apache-2.0, see notices/LICENSE.satchel.txt',
  directories: { app: `${stageFolder}/app`, output: 'dist', buildResources: 'packaging/resources' },
  // The page and the app's own code, in one archive that Electron verifies. What plain Node reads cannot be inside: it is copied beside it.
  asar: true,
  // A deb names a page of its project; like the maintainer's address it is set by whoever publishes.
  extraMetadata: { homepage: 'https://satchel.invalid' },
  files: ['**/*'],
  extraResources: [
    { from: `${stageFolder}/engine`, to: 'engine' },
    // electron-builder leaves out a folder of this name unless it is named.
    { from: `${stageFolder}/engine/node_modules`, to: 'engine/node_modules' },
    { from: `${stageFolder}/node`, to: 'node' },
    { from: `${stageFolder}/command-line`, to: 'command-line' },
    { from: `${stageFolder}/notices`, to: 'notices' },
  ],
  electronFuses: fuses,
  electronLanguages: ['en-US', 'en'],
  // Node-API kernels fit every Node and Electron; packages are as npm installed them.
  npmRebuild: false,
  // Releases are uploaded by whoever makes them, and the app never looks for another version of itself.
  publish: null,
  compression: 'normal',
  artifactName: '${productName}-${version}-${os}-${arch}.${ext}',
  linux: {
    target: ['AppImage', 'deb'],
    executableName: 'satchel',
    icon: 'packaging/resources/icons',
    category: 'Science',
    synopsis: 'Trains small language models on your own machine',
    maintainer: 'Satchel contributors <contributors@satchel.invalid>',
    desktop: { entry: { Name: 'Satchel', GenericName: 'Reinforcement learning workstation', Keywords: 'machine learning;language model;training;GRPO;', StartupWMClass: 'satchel', StartupNotify: 'true' } },
  },
  deb: { priority: 'optional', packageCategory: 'science' },
  win: { target: ['nsis'], icon: 'packaging/resources/icon.ico' },
  // For one person, without the rights of an administrator, into a folder they choose.
  nsis: { oneClick: false, perMachine: false, allowToChangeInstallationDirectory: true, deleteAppDataOnUninstall: false, packElevateHelper: false, license: join(root, 'LICENSE') },
  mac: { target: ['dmg'], icon: 'packaging/resources/icon.icns', category: 'public.app-category.developer-tools', darkModeSupport: true },
}
