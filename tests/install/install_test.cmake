# Installs the build into an empty folder, then configures, builds and runs consumer/ and the examples against it.
file(REMOVE_RECURSE ${work})
foreach(step IN ITEMS
    "--install;${build};--prefix;${work}/prefix"
    "-G;${generator};-S;${CMAKE_CURRENT_LIST_DIR}/consumer;-B;${work}/consumer;-DCMAKE_PREFIX_PATH=${work}/prefix;-DCMAKE_CXX_COMPILER=${compiler};-DCMAKE_BUILD_TYPE=Release;-Dexamples=${examples}"
    "--build;${work}/consumer")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(program IN ITEMS consumer study)
  execute_process(COMMAND ${work}/consumer/${program} WORKING_DIRECTORY ${work}/consumer COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(example IN ITEMS 01_certify 02_explain 03_classes 04_true_set 05_audit)
  execute_process(COMMAND ${work}/consumer/${example} WORKING_DIRECTORY ${work} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# What shells and man look for.
foreach(text IN ITEMS man/man1/ellice.1 bash-completion/completions/ellice zsh/vendor-completions/_ellice
    fish/vendor_completions.d/ellice.fish)
  file(READ ${work}/prefix/share/${text} content)
  if(NOT content MATCHES "trade.?-off")  # an option of explain; of man `-` is `\\-`
    message(FATAL_ERROR "share/${text} does not name the options")
  endif()
endforeach()
# Both programs, side by side: the one hands over to the other.
execute_process(COMMAND ${work}/prefix/bin/ellice study --help OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
