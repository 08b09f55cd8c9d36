// Windows only. The Node-API functions are imported from "node.exe", but the running program may have another name; the linker's
// delay-load hook then answers with the program itself.
#if defined(_WIN32)
#include <windows.h>

#include <delayimp.h>
#include <string.h>

static FARPROC WINAPI answerWithHost(unsigned event, DelayLoadInfo* info) {
  if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
  return reinterpret_cast<FARPROC>(GetModuleHandleW(nullptr));
}

extern "C" const PfnDliHook __pfnDliNotifyHook2 = answerWithHost;
#endif
